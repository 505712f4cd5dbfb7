/* A native call under way, as those see it who surround it (native_fault.c) and whom C calls
 * back (native_callback.c, libricci's api*.c). Nobody else includes this. */
#ifndef RICCI_INTERP_NATIVE_FRAME_H
#define RICCI_INTERP_NATIVE_FRAME_H

#include "interp/native/native.h"

#include <fenv.h>

typedef struct NativeFrame {
    struct NativeFrame *up;      /* of the same interpreter: one of its callbacks made this call */
    struct NativeFrame *outer;   /* what the thread was inside of before */
    Interp *in;
    const CFunction *f;          /* NULL: native_guard */
    uint64_t serial;             /* of this thread's calls */
    Error *pending;              /* the first error of a callback: raised when C returns */
    unsigned fp;                 /* our floating-point control; C may have another */
    bool c_fp_waits;             /* C's is kept while a callback runs */
    fenv_t c_fp;
    sigjmp_buf escape;           /* out of C, after a crash */
} NativeFrame;

/* Ricci code begins to run inside C, and ends: what happens between is none of C's faults. Returns
 * the call that this thread is inside of; NULL: C runs on a thread of its own, or outside of any
 * call. */
NativeFrame *native_suspend(void);
void native_resume(NativeFrame *);
/* Leaves C at once, for good; raises an interrupt from the native call. */
_Noreturn void native_escape(NativeFrame *);

/* A callback was called where it cannot run; on any thread. */
void native_count_refusal(void);
/* Tells of such calls: raises if they came during the call `under_way`, notices if it is NULL. */
void native_refused(Interp *, const NativeFrame *under_way);

#endif
