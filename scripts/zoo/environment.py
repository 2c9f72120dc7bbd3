"""Virtual environments under build/ for the scripts that write models. Needs nothing beside Python itself."""

import pathlib
import subprocess
import sys
import venv

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent


def python_with(name, packages):
    """The Python of build/<name>, which is made first if its packages are not the ones that are named (with versions)."""
    folder = ROOT / "build" / name
    python = folder / "bin" / "python"
    stamp = folder / "packages.txt"
    if not stamp.exists() or stamp.read_text().split() != packages:
        print(f"making build/{name} with {' '.join(packages)}", file=sys.stderr)
        if not python.exists():
            venv.create(folder, with_pip=True)
        subprocess.run([python, "-m", "pip", "install", "--quiet", *packages], check=True)
        stamp.write_text("\n".join(packages) + "\n")
    return python
