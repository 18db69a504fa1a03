/* Assimulo was written for SUNDIALS 3: the macros at the end give its calls the arguments that SUNDIALS 6 wants. */
#ifndef MBDAE_SUNDIALS6_H
#define MBDAE_SUNDIALS6_H

#include <sundials/sundials_config.h>
#if SUNDIALS_VERSION_MAJOR != 6
#error "This recipe is for SUNDIALS 6, which Debian 12 has as libsundials-dev."
#endif

#include <cvodes/cvodes.h>
#include <cvodes/cvodes_direct.h>
#include <cvodes/cvodes_spils.h>
#include <idas/idas.h>
#include <idas/idas_direct.h>
#include <idas/idas_spils.h>
#include <kinsol/kinsol.h>
#include <kinsol/kinsol_direct.h>
#include <kinsol/kinsol_spils.h>
#include <nvector/nvector_serial.h>
#include <sunlinsol/sunlinsol_dense.h>
#include <sunlinsol/sunlinsol_spgmr.h>
#include <sunmatrix/sunmatrix_dense.h>
#include <sunmatrix/sunmatrix_sparse.h>
#include <sunnonlinsol/sunnonlinsol_fixedpoint.h>

/* Every object belongs to a context; one for the whole module, made when first asked for and never freed, is what SUNDIALS 3 had. */
static inline SUNContext the_context(void)
{
  static SUNContext context = NULL;
  if (context == NULL) SUNContext_Create(NULL, &context);
  return context;
}

/* The iteration was an argument of CVodeCreate; it is now an object attached after CVodeInit, Newton's unless told otherwise.
   The object is small and stays until the end of the process. Sensitivities would need one of their own: they work with Newton's only. */
enum { FUNCTIONAL_ITERATION = 1 };
static int requested_iteration;

static inline void *create_cvode(int method, int iteration)
{
  requested_iteration = iteration;
  return CVodeCreate(method, the_context());
}

static inline int init_cvode(void *memory, CVRhsFn f, realtype t0, N_Vector y0)
{
  int flag = CVodeInit(memory, f, t0, y0);
  if (flag != CV_SUCCESS || requested_iteration != FUNCTIONAL_ITERATION) return flag;
  return CVodeSetNonlinearSolver(memory, SUNNonlinSol_FixedPoint(y0, 0, the_context()));
}

/* Without sensitivities there is no solver whose iterations could be limited: SUNDIALS 3 took the limit, SUNDIALS 6 reports an error. */
static inline int limit_iterations_cvode(void *memory, int n) { CVodeSetSensMaxNonlinIters(memory, n); return CV_SUCCESS; }
static inline int limit_iterations_ida(void *memory, int n) { IDASetSensMaxNonlinIters(memory, n); return IDA_SUCCESS; }

#define CVodeCreate(method, iteration) create_cvode(method, iteration)
#define CVodeInit(memory, f, t0, y0) init_cvode(memory, f, t0, y0)
#define CVodeSetSensMaxNonlinIters(memory, n) limit_iterations_cvode(memory, n)
#define IDASetSensMaxNonlinIters(memory, n) limit_iterations_ida(memory, n)
#define IDACreate() IDACreate(the_context())
#define KINCreate() KINCreate(the_context())
#define N_VNew_Serial(n) N_VNew_Serial(n, the_context())
#define SUNDenseMatrix(m, n) SUNDenseMatrix(m, n, the_context())
#define SUNSparseMatrix(m, n, nnz, type) SUNSparseMatrix(m, n, nnz, type, the_context())
#define SUNDenseLinearSolver(y, a) SUNLinSol_Dense(y, a, the_context())
#define SUNSPGMR(y, preconditioning, dimension) SUNLinSol_SPGMR(y, preconditioning, dimension, the_context())

#endif
