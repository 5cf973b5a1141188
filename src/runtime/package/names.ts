/** Valid names of Python packages: without conflicts with other packages, Python or pip. */
import { readFileSync } from "node:fs";
import { isTorchNamespace } from "../../compiled/torch-namespaces.js";
import { lockFile } from "../worker/environment.js";

/** pip's metadata folders add a version to the name, and file systems limit names to 255 bytes. */
const MAX_LENGTH = 200;

/** The reason why a package cannot have this name, as a sentence without its remedy; undefined if it can. */
export function nameProblem(name: string): string | undefined {
  if (!/^[a-z]([a-z0-9_]*[a-z0-9])?$/.test(name))
    return `${JSON.stringify(name)} cannot be the name of a Python package`;
  if (name.length > MAX_LENGTH) return `a name of ${name.length} letters is too long for a folder`;
  if (keywords.has(name)) return `${name} is a word of Python's grammar`;
  if (standardLibrary.has(name)) return `${name} is a module of Python's standard library`;
  if (reservedFolders.has(name)) return `${name} is the name of a folder that building or testing a package uses`;
  if (isTorchNamespace(name)) return `torch.ops.${name} belongs to PyTorch`;
  if (requiredDistributions().has(distributionOf(name)))
    return `${name} is the name of a package that the kernels need`;
  return undefined;
}

/** The normalized name of a distribution, as pip compares names. */
export function distributionOf(name: string): string {
  return name.toLowerCase().replace(/[-_.]+/g, "-");
}

/** The distributions in an environment with torch and triton, and their modules with other names. */
function requiredDistributions(): ReadonlySet<string> {
  const locked = Array.from(readFileSync(lockFile, "utf8").matchAll(/^([\w.-]+)==/gm), ([, name = ""]) => name);
  return new Set([...locked, ...alsoInstalled].map(distributionOf));
}

const reservedFolders = new Set(["build", "dist", "tests"]);

const wordSet = (text: string): ReadonlySet<string> => new Set(text.trim().split(/\s+/));

const alsoInstalled = wordSet(`
cuda functorch isympy nvidia pip pkg_resources pytorch_triton tilescript tilescript_worker torchaudio torchgen
torchvision wheel
`);

const keywords = wordSet(`
and as assert async await break class continue def del elif else except finally for from global if import in is
lambda nonlocal not or pass raise return try while with yield
`);

/** The public modules of Python 3.10 to 3.14. */
const standardLibrary = wordSet(`
abc aifc annotationlib antigravity argparse array ast asynchat asyncio asyncore atexit audioop base64 bdb
binascii binhex bisect builtins bz2 calendar cgi cgitb chunk cmath cmd code codecs codeop collections colorsys
compileall compression concurrent configparser contextlib contextvars copy copyreg crypt csv ctypes curses
dataclasses datetime dbm decimal difflib dis distutils doctest email encodings ensurepip enum errno faulthandler
fcntl filecmp fileinput fnmatch fractions ftplib functools gc genericpath getopt getpass gettext glob graphlib
grp gzip hashlib heapq hmac html http idlelib imaplib imghdr imp importlib inspect io ipaddress itertools json
keyword lib2to3 linecache locale logging lzma mailbox mailcap marshal math mimetypes mmap modulefinder msilib
msvcrt multiprocessing netrc nis nntplib nt ntpath nturl2path numbers opcode operator optparse os ossaudiodev
pathlib pdb pickle pickletools pipes pkgutil platform plistlib poplib posix posixpath pprint profile pstats pty
pwd py_compile pyclbr pydoc pydoc_data pyexpat queue quopri random re readline reprlib resource rlcompleter
runpy sched secrets select selectors shelve shlex shutil signal site smtpd smtplib sndhdr socket socketserver
spwd sqlite3 sre_compile sre_constants sre_parse ssl stat statistics string stringprep struct subprocess sunau
symtable sys sysconfig syslog tabnanny tarfile telnetlib tempfile termios textwrap this threading time timeit
tkinter token tokenize tomllib trace traceback tracemalloc tty turtle turtledemo types typing unicodedata
unittest urllib uu uuid venv warnings wave weakref webbrowser winreg winsound wsgiref xdrlib xml xmlrpc zipapp
zipfile zipimport zlib zoneinfo
`);
