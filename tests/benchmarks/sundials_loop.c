/* IDA of the system's SUNDIALS 6 from a C program: the residual and the Jacobian are C functions given by their addresses. */
#include <ida/ida.h>
#include <nvector/nvector_serial.h>
#include <sunlinsol/sunlinsol_dense.h>
#include <sunmatrix/sunmatrix_dense.h>

static void put(N_Vector v, const double *x, long n) {
  double *at = N_VGetArrayPointer(v);
  for (long k = 0; k < n; k++) at[k] = x[k];
}

/* Integrate from t0 to t_end; returns the number of steps, or a negative code. `y` holds the start, and then the end. */
long run(IDAResFn residual, IDALsJacFn jacobian, void *data, long n, double t0, double t_end, double *y, const double *yd,
         double rtol, const double *atol, const double *differential, double first_step) {
  SUNContext context;
  void *memory;
  double reached;
  long steps = 0;
  SUNContext_Create(NULL, &context);
  N_Vector u = N_VNew_Serial(n, context), up = N_VNew_Serial(n, context), tol = N_VNew_Serial(n, context), id = N_VNew_Serial(n, context);
  put(u, y, n);
  put(up, yd, n);
  put(tol, atol, n);
  put(id, differential, n);
  memory = IDACreate(context);
  IDAInit(memory, residual, t0, u, up);
  IDASetUserData(memory, data);
  IDASVtolerances(memory, rtol, tol);
  IDASetId(memory, id);
  SUNMatrix A = SUNDenseMatrix(n, n, context);
  SUNLinearSolver solver = SUNLinSol_Dense(u, A, context);
  IDASetLinearSolver(memory, solver, A);
  if (jacobian) IDASetJacFn(memory, jacobian);
  IDASetInitStep(memory, first_step);
  IDASetStopTime(memory, t_end);
  int code = 0;
  while (code >= 0 && code != IDA_TSTOP_RETURN) code = IDASolve(memory, t_end, &reached, u, up, IDA_ONE_STEP);
  IDAGetNumSteps(memory, &steps);
  for (long k = 0; k < n; k++) y[k] = N_VGetArrayPointer(u)[k];
  IDAFree(&memory);
  SUNLinSolFree(solver);
  SUNMatDestroy(A);
  N_VDestroy(u);
  N_VDestroy(up);
  N_VDestroy(tol);
  N_VDestroy(id);
  SUNContext_Free(&context);
  return code < 0 ? code : steps;
}
