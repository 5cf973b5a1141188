"""Cases of emitted modules, answered in several processes.

Each of the scripts that use it reads JSON lines {"id", "module", …} from the file named first, a module being the text of
an emitted file, and writes one JSON object, id to answer, to the second. What has no answer is left out.
"""

import json
import os
import sys
import tempfile
from concurrent.futures import ProcessPoolExecutor

from tilescript_worker.modules import import_file


def reason(error):
    """What the first of a chain of errors says, on one line."""
    while error.__cause__ is not None:
        error = error.__cause__
    return f"{type(error).__name__}: {error}".strip().splitlines()[-1]


def answered(answer, folder, index, case):
    path = os.path.join(folder, f"case_{index}.py")
    with open(path, "w") as file:
        file.write(case["module"])
    try:
        return answer(import_file(path), case)
    except Exception as error:
        return {"error": reason(error)}


def main(answer, chunksize):
    """Calls ``answer(module, case)`` for each case. What it raises is the answer {"error": reason}."""
    with open(sys.argv[1]) as file:
        cases = [json.loads(line) for line in file]
    count = len(cases)
    with tempfile.TemporaryDirectory() as folder, ProcessPoolExecutor(min(count, os.cpu_count() or 1, 4)) as pool:
        os.environ.setdefault("TRITON_CACHE_DIR", os.path.join(folder, "cache"))
        answers = pool.map(answered, [answer] * count, [folder] * count, range(count), cases, chunksize=chunksize)
        found = {case["id"]: given for case, given in zip(cases, answers, strict=True) if given is not None}
    with open(sys.argv[2], "w") as out:
        json.dump(found, out)
