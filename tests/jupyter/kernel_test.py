"""jupyter_kernel_test with every sample filled. It needs the Python packages jupyter_client and jupyter_kernel_test, and the
kernel installed under the name `ricci` (`ricci jupyter install --sys-prefix`): python tests/jupyter/kernel_test.py."""
import unittest

import jupyter_kernel_test


class RicciTests(jupyter_kernel_test.KernelTests):
    kernel_name = "ricci"
    language_name = "ricci"
    file_extension = ".ric"
    code_hello_world = "print(\"hello, world\")"
    code_stderr = "warn(\"mind the gap\")"
    completion_samples = [
        {"text": "eig", "matches": {"eig", "eigh", "eigvals", "eigvalsh"}},
        {"text": "norm(x, or", "matches": {"ord="}},
        {"text": "\\alpha", "matches": {"α"}},
        {"text": "precision bf", "matches": {"bf16"}},
    ]
    complete_code_samples = ["1 + 1", "fn f(x) { x + 1 }", ":vars", "?svd", "for i in 1:3 {\n  print(i)\n}"]
    incomplete_code_samples = ["fn f(x) {", "x = [1,", "1 +", "try { 1 }"]
    invalid_code_samples = ["x = = 1", "1 2", ")"]
    code_page_something = "?svd"
    code_generate_error = "nothing_of_this_name"
    code_execute_result = [
        {"code": "6 * 7", "result": "42"},
        {"code": "[1, 2; 3, 4]", "mime": "text/plain", "result": "2×2 i64\n⎡1  2⎤\n⎣3  4⎦"},
        {"code": "rational(1) / 3", "mime": "text/latex", "result": "$\\displaystyle \\frac{1}{3}$"},
    ]
    code_display_data = [
        {"code": "plot([1, 4, 9])", "mime": "image/svg+xml"},
        {"code": "plot([1, 4, 9])", "mime": "text/plain"},
        {"code": "heat([1, 2; 3, 4])", "mime": "image/png"},
        {"code": "compare f32, f64 { 1 / 3 }", "mime": "text/html"},
    ]
    code_history_pattern = "6 ? 7"
    supported_history_operations = ("tail", "range", "search")
    code_inspect_sample = "svd"
    code_clear_output = "clc"


class RicciWelcome(jupyter_kernel_test.IopubWelcomeTests):
    kernel_name = "ricci"
    support_iopub_welcome = True


if __name__ == "__main__":
    unittest.main()
