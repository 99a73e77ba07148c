#!/usr/bin/env python3
"""The C interface of the installed kit: the page's programs through its CMake project and through pkg-config, and a call from Python."""

import os
import re
import shutil
import unittest

from kit import PREFIX, SOURCE, WORK, configure, run

PAGE = SOURCE / "docs" / "howto" / "embedding-c.md"
FOLDER, BUILD = WORK / "c", WORK / "c" / "build"
MODEL = PREFIX / "share/dovetail/examples/digits/digits_int8.onnx"
SANITIZED = "fsanitize" in os.environ.get("DOVETAIL_CXX_FLAGS", "")


@unittest.skipIf(SANITIZED, "the programs have no sanitizer, and the libraries have one")
class C(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        shutil.rmtree(FOLDER, ignore_errors=True)
        FOLDER.mkdir(parents=True)
        page = PAGE.read_text()
        for text in re.findall(r"^```c\n(.*?)^```$", page, re.MULTILINE | re.DOTALL):
            (FOLDER / re.match(r"/\* (\w+\.c)", text).group(1)).write_text(text)
        (FOLDER / "CMakeLists.txt").write_text(re.search(r"^```cmake\n(.*?)^```$", page, re.MULTILINE | re.DOTALL).group(1))

    def test_the_project_of_the_page_needs_no_other_package_and_no_other_language(self):
        said = configure(FOLDER, BUILD, "-DCMAKE_DISABLE_FIND_PACKAGE_fmt=TRUE")
        self.assertNotIn("CXX compiler identification", said)
        run("cmake", "--build", BUILD)
        self.assertIn("no race", run(BUILD / "build", MODEL, FOLDER / "digits.dvt", cwd=FOLDER))
        self.assertRegex(run(BUILD / "run", FOLDER / "digits.dvt", cwd=FOLDER), r"run 2: class \d")
        self.assertNotIn("libLLVM", run("ldd", BUILD / "run"))

    @unittest.skipUnless(shutil.which("pkg-config"), "no pkg-config")
    def test_pkg_config_finds_both(self):
        path = {"PKG_CONFIG_PATH": PREFIX / "lib/pkgconfig"}
        for library, program in (("dovetail_runtime", "run"), ("dovetail", "build")):
            flags = run("pkg-config", "--cflags", "--libs", library, **path).split()
            run("cc", "-std=c11", FOLDER / f"{program}.c", *flags, "-o", FOLDER / f"by_pkg_config_{program}")
            self.assertEqual(run("pkg-config", "--modversion", library, **path).count("."), 2)

    def test_the_library_finds_the_files_of_its_kit(self):
        script = (f"import ctypes; kit = ctypes.CDLL({str(PREFIX / 'lib/libdovetail.so.1')!r}); kit.dvt_area.restype = ctypes.c_void_p\n"
                  "text = ctypes.c_char_p()\nassert kit.dvt_area(b'1x16x16', b'xc7', ctypes.byref(text)) is None\nprint(text.value[:40])")
        self.assertIn("1x16x16", run("python3", "-c", script, cwd=FOLDER))

    def test_the_kit_of_the_library_precedes_another_one_around_the_program(self):
        source, program = FOLDER / "area.c", FOLDER / "other/bin/area"
        source.write_text('#include <dovetail.h>\n#include <stdio.h>\nint main(void) {\n  char* json = 0;\n'
                          '  dvt_status* status = dvt_area("1x16x16", "xc7", &json);\n  puts(dvt_status_text(status));\n  return status != 0;\n}\n')
        (FOLDER / "other/share/dovetail").mkdir(parents=True)
        program.parent.mkdir()
        run("cc", "-std=c11", source, f"-I{PREFIX / 'include/dovetail-1'}", f"-L{PREFIX / 'lib'}", f"-Wl,-rpath,{PREFIX / 'lib'}", "-ldovetail", "-o", program)
        run(program)

    def test_the_licence_of_dlpack_is_installed(self):
        self.assertIn("Apache License", (PREFIX / "include/dovetail-1/dlpack.LICENSE").read_text())


if __name__ == "__main__":
    unittest.main()
