"""SUNDIALS without Python in its loop: IDA and CVODE called in their C libraries, with compiled callbacks."""
