/* `ricci jupyter`: what was asked for, done by interp/jupyter. */
#include "interp/program/main.h"

#include <string.h>

static void run(App *app, const char *word)
{
    JupyterSpec spec = app->options.jupyter;
    spec.name = spec.name ? spec.name : "ricci";
    spec.display = spec.display ? spec.display : "Ricci";
    if (strcmp(word, "run") == 0)
        jupyter_run(app->in, &app_help, app->names[1]);
    else if (strcmp(word, "install") == 0)
        jupyter_install(app->in, &spec);
    else if (strcmp(word, "uninstall") == 0)
        jupyter_uninstall(app->in, &spec);
    else
        jupyter_list(app->in);
}

void jupyter_command(App *app)
{
    app_guarded(app, run, app->names[0]);
}
