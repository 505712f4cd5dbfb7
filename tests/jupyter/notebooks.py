"""The notebooks of examples/notebooks run cell by cell as Jupyter would run them, and what they show is compared, by its
text, with what stands in them. A cell with the tag `varies` (times, what the machine has) only shows the same kinds of
things. docs/notebooks has each as a page, which is to say what the notebook says. BLESS=1 writes what they show into them,
and the pages. Ends with N passed, N failed."""
import glob
import json
import os
import re
import shutil
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from client import Kernel, there_is_zmq

here = os.path.dirname(os.path.abspath(__file__))
root = os.path.join(here, "..", "..")
bless = os.environ.get("BLESS") == "1"
ricci = os.path.abspath(os.environ.get("RICCI", "build/ricci"))
FIELDS = {"stream": ("name", "text"), "execute_result": ("execution_count", "data", "metadata"),
          "display_data": ("data", "metadata"), "error": ("ename", "evalue", "traceback")}
KEPT = ("text/plain", "text/latex", "text/html", "image/svg+xml")     # of what is shown; a PNG would be large


def outputs(messages):
    """The outputs of a cell as a notebook keeps them: texts of one stream that follow each other are one."""
    found = []
    for m in messages:
        if m["type"] not in FIELDS:
            continue
        out = {"output_type": m["type"], **{f: m["content"][f] for f in FIELDS[m["type"]]}}
        if m["type"] == "stream" and found and found[-1].get("name") == out["name"]:
            found[-1]["text"] += out["text"]
            continue
        if "data" in out:
            out["data"] = {k: v for k, v in out["data"].items() if k in KEPT}
            out["metadata"] = {}
        found.append(out)
    return found


def joined(text):
    return text if isinstance(text, str) else "".join(text)


def text_of(out):
    if out["output_type"] == "stream":
        return out["name"], joined(out["text"])
    if out["output_type"] == "error":
        return out["ename"], out["evalue"]
    return out["output_type"], joined(out["data"]["text/plain"])


def page(book, name):
    """The files of docs/notebooks for a notebook: the page and its pictures."""
    text, files = [], {}
    for cell in book["cells"]:
        source = joined(cell["source"])
        if cell["cell_type"] != "code":
            text.append(source)
            continue
        text.append(f"```ricci\n{source}\n```")
        for out in cell["outputs"]:
            if "image/svg+xml" in out.get("data", {}):
                picture = f"{name}-{len(files) + 1}.svg"
                files[picture] = joined(out["data"]["image/svg+xml"])
                text.append(f"![{source.splitlines()[-1].split('(')[0]}]({picture})")
            else:
                said = "\n".join(out["traceback"]) if out["output_type"] == "error" else text_of(out)[1]
                said = re.sub("\x1b\\[[0-9;]*m", "", said).rstrip("\n")
                text.append(f"```text\n{said}\n```")
    text.append(f"This page is [{name}.ipynb](../../examples/notebooks/{name}.ipynb); [jupyter.md](../jupyter.md) says how to open it.")
    files[f"{name}.md"] = "\n\n".join(text) + "\n"
    return files


def check_page(book, name):
    folder, wrong = os.path.join(root, "docs", "notebooks"), []
    for file_name, text in page(book, name).items():
        path = os.path.join(folder, file_name)
        if bless:
            os.makedirs(folder, exist_ok=True)
            with open(path, "w", encoding="utf-8") as file:
                file.write(text)
            continue
        try:
            with open(path, encoding="utf-8") as file:
                if file.read() != text:
                    wrong.append(f"docs/notebooks/{file_name} is not what the notebook says")
        except OSError as e:
            wrong.append(str(e))
    return wrong


def run(path):
    """What is wrong with a notebook, as texts; with BLESS it is written."""
    with open(path, encoding="utf-8") as file:
        book = json.load(file)
    kernel, wrong, count = Kernel(ricci), [], 0
    data = os.path.join(kernel.folder, "data")
    shutil.copytree(os.path.join(root, "examples", "data"), data)
    for cell in book["cells"]:
        if cell["cell_type"] != "code":
            continue
        count += 1
        code, tags = joined(cell["source"]), cell["metadata"].get("tags", [])
        reply, messages = kernel.client.run(code)
        got = outputs(messages)
        if (reply["status"] == "error") != ("raises-exception" in tags):
            wrong.append(f"cell {count} ends with {reply['status']}: {reply.get('evalue', '')}")
        if bless:
            cell["outputs"], cell["execution_count"] = got, count
            continue
        for o, w in zip(got, cell["outputs"]):
            g, t = text_of(o), text_of(w)
            if g[0] != t[0] or ("varies" not in tags and g != t):
                wrong.append(f"cell {count}: {g}, not {t}")
        if len(got) != len(cell["outputs"]):
            wrong.append(f"cell {count} shows {len(got)} things, not {len(cell['outputs'])}")
    kernel.close()
    if bless:
        with open(path, "w", encoding="utf-8") as file:
            json.dump(book, file, indent=1, ensure_ascii=False)
            file.write("\n")
    return wrong + check_page(book, os.path.splitext(os.path.basename(path))[0])


def main():
    if not there_is_zmq():
        print("not run: examples/notebooks: there is no libzmq (Debian: libzmq5)\n0 passed, 0 failed")
        return 0
    passed = failed = 0
    for path in sorted(glob.glob(os.path.join(root, "examples", "notebooks", "*.ipynb"))):
        wrong = run(path)
        for text in wrong:
            print(f"FAIL {os.path.basename(path)}: {text}"[:1500])
        passed, failed = passed + (not wrong), failed + bool(wrong)
    print(f"{passed} passed, {failed} failed")
    return failed != 0


if __name__ == "__main__":
    sys.exit(main())
