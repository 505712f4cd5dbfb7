/* libnvrtc.so.12 of the machine that stub.h describes. It keeps the source, and makes an image that
 * only says so; or, with STUB_NVRTC=g++ in the environment, a shared object of it with the host's
 * compiler and shim.h, which libcuda.so.1 runs. A source with the word #error does not compile. */
#include "tests/stub/stub.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define EXPORT __attribute__((visibility("default")))

typedef struct Program { char *source, *image, *log; size_t bytes; } Program;

EXPORT int nvrtcVersion(int *major, int *minor)
{
    *major = 12;
    *minor = 4;
    return 0;
}

static const int archs[] = { 50, 52, 53, 60, 61, 62, 70, 72, 75, 80, 86, 87, 89, 90 };

EXPORT int nvrtcGetNumSupportedArchs(int *count)
{
    *count = sizeof archs / sizeof *archs;
    return 0;
}

EXPORT int nvrtcGetSupportedArchs(int *out)
{
    memcpy(out, archs, sizeof archs);
    return 0;
}

EXPORT int nvrtcCreateProgram(Program **out, const char *source, const char *name, int headers,
                              const char *const *header, const char *const *include)
{
    (void)name, (void)header, (void)include;
    if (headers)
        return 3;
    Program *p = *out = calloc(1, sizeof *p);
    p->source = strdup(source);
    stub.handles++;
    return 0;
}

EXPORT int nvrtcDestroyProgram(Program **p)
{
    free((*p)->source);
    free((*p)->image);
    free((*p)->log);
    free(*p);
    *p = NULL;
    stub.handles--;
    return 0;
}

static char *file_read(const char *path, size_t *bytes)
{
    FILE *f = fopen(path, "rb");
    if (!f)
        return NULL;
    fseek(f, 0, SEEK_END);
    *bytes = (size_t)ftell(f);
    rewind(f);
    char *text = calloc(1, *bytes + 1);
    *bytes = fread(text, 1, *bytes, f);
    fclose(f);
    return text;
}

/* `old`, where it stands, by something as long or shorter. */
static void replace(char *text, const char *old, const char *with)
{
    for (char *p; (p = strstr(text, old));) {
        memset(p, ' ', strlen(old));
        memcpy(p, with, strlen(with));
    }
}

/* Machine instructions of the device in C, and a caller for every kernel. */
static void source_write(FILE *f, char *source)
{
    replace(source, "asm(\"cvt.f32.f16 %0, %1;\" : \"=f\"(f) : \"h\"(h));", "f = shim_f16_value(h);");
    replace(source, "asm(\"cvt.rn.f16.f32 %0, %1;\" : \"=h\"(h) : \"f\"(f));", "h = shim_f16_bits(f);");
    const char *barrier = strstr(source, "#define BARRIER");
    bool barriers = strstr(barrier ? barrier + 16 : source, "BARRIER;") != NULL;
    fprintf(f, "#define SHIM_BARRIERS %d\n#include \"tests/stub/shim.h\"\n%s\n", barriers, source);
    for (const char *p = source; (p = strstr(p, "KERNEL void "));) {
        char name[64];
        p += strlen("KERNEL void ");
        sscanf(p, "%63[A-Za-z0-9_]", name);
        fprintf(f, "extern \"C\" void shim_run_%s(void **p, const unsigned *g, const unsigned *b) "
                   "{ shim_run(%s, p, g, b); }\n", name, name);
    }
}

static int compile(Program *p)
{
    const char *root = getenv("STUB_ROOT");
    char base[] = "/tmp/ricci-stub.XXXXXX", path[64], out[64], log[64], command[400];
    int fd = mkstemp(base);
    close(fd);
    snprintf(path, sizeof path, "%s.cc", base);
    snprintf(out, sizeof out, "%s.so", base);
    snprintf(log, sizeof log, "%s.log", base);
    FILE *f = fopen(path, "w");
    source_write(f, p->source);
    fclose(f);
    snprintf(command, sizeof command, "g++ -std=c++17 -O0 -w -ffp-contract=off -fPIC -shared -I%s -o %s %s 2>%s",
             root ? root : ".", out, path, log);
    int status = system(command);
    if (status == 0) {
        size_t bytes;                           /* "SHIM", how long it is, the object */
        char *object = file_read(out, &bytes);
        p->bytes = bytes + 16;
        p->image = calloc(1, p->bytes);
        memcpy(p->image, "SHIM", 4);
        memcpy(p->image + 8, &bytes, sizeof bytes);
        memcpy(p->image + 16, object, bytes);
        free(object);
    } else {
        size_t bytes;
        p->log = file_read(log, &bytes);
    }
    if (!getenv("STUB_KEEP"))
        unlink(path);
    unlink(base);
    unlink(out);
    unlink(log);
    return status == 0 ? 0 : 6;
}

EXPORT int nvrtcCompileProgram(Program *p, int options, const char *const *option)
{
    int code = stub_fails(__func__);
    const char *mode = getenv("STUB_NVRTC");
    stub.compiled++;
    snprintf(stub.source, sizeof stub.source, "%s", p->source);
    stub.options[0] = '\0';
    for (int i = 0; i < options; i++) {
        strcat(stub.options, option[i]);
        strcat(stub.options, " ");
    }
    if (code)
        return code;
    if (strstr(p->source, "#error")) {
        p->log = strdup("kernel.cu(1): warning: this comes first\nkernel.cu(2): error: #error directive: as asked\n"
                        "\n1 error detected in the compilation of \"kernel.cu\".\n");
        return 6;
    }
    if (mode && strcmp(mode, "g++") == 0)
        return compile(p);
    p->image = malloc(8);
    memcpy(p->image, "STUB", 5);
    p->bytes = 5;
    return 0;
}

static int size_of(const Program *p, size_t *bytes)
{
    *bytes = p->bytes;
    return p->image ? 0 : 4;
}

static int image_of(const Program *p, char *image)
{
    memcpy(image, p->image, p->bytes);
    return 0;
}

EXPORT int nvrtcGetCUBINSize(Program *p, size_t *bytes) { return size_of(p, bytes); }
EXPORT int nvrtcGetCUBIN(Program *p, char *image) { return image_of(p, image); }
EXPORT int nvrtcGetPTXSize(Program *p, size_t *bytes) { return size_of(p, bytes); }
EXPORT int nvrtcGetPTX(Program *p, char *image) { return image_of(p, image); }

EXPORT int nvrtcGetProgramLogSize(Program *p, size_t *bytes)
{
    *bytes = p->log ? strlen(p->log) + 1 : 1;
    return 0;
}

EXPORT int nvrtcGetProgramLog(Program *p, char *log)
{
    strcpy(log, p->log ? p->log : "");
    return 0;
}
