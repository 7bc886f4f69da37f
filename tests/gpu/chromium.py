# SPDX-License-Identifier: Apache-2.0
# Every WGSL kernel compiles in Chromium, whose compiler (Tint) is stricter than wgpu-native's (naga). Prints file and line of
# each error. Pipelines are not made: the software GPU behind it takes minutes for them, and limits are checked by opcheck on
# webgpu too. Exit 77 where there is no browser to ask.
# usage: chromium.py FOLDER-OF-WGSL [FOLDER-OF-PLAYWRIGHT]
import json
import pathlib
import shutil
import sys

folder = pathlib.Path(sys.argv[1])
if len(sys.argv) > 2:
    sys.path.insert(0, sys.argv[2])
browser_path = shutil.which("chromium")
if not browser_path:
    print("skipped: chromium is not installed")
    sys.exit(77)
try:
    from playwright.sync_api import Error, sync_playwright
except ImportError as error:
    print(f"skipped: Playwright is not there ({error})")
    sys.exit(77)

FLAGS = [
    "--enable-unsafe-webgpu",
    "--use-webgpu-adapter=swiftshader",
    "--no-sandbox",
    "--no-first-run",
    "--disable-quic",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]

OPEN = """async () => {
    if (!navigator.gpu) return "no navigator.gpu";
    const adapter = await navigator.gpu.requestAdapter();
    if (!adapter) return "no adapter";
    window.device = await adapter.requestDevice();
    window.device.addEventListener("uncapturederror", e => { window.uncaptured = e.error.message; });
    return null;
}"""

COMPILE = """async code => {
    const errors = [];
    window.uncaptured = null;
    const module = window.device.createShaderModule({code});
    for (const m of (await module.getCompilationInfo()).messages)
        if (m.type === "error") errors.push([m.lineNum, m.linePos, m.message]);
    if (window.uncaptured && !errors.length) errors.push([0, 0, window.uncaptured]);
    return errors;
}"""


def compile_all(page, files):
    failures = 0
    for file in files:
        code = file.read_text()
        for line, column, message in page.evaluate(COMPILE, code):
            failures += 1
            place = f"{file}:{line}:{column}" if line else str(file)
            print(f"{place}: {message.strip()}")
            if line:
                print("    " + code.splitlines()[line - 1].strip())
    return failures


def main():
    files = sorted(folder.glob("*.wgsl"))
    if not files:
        print(f"{folder}: there are no kernels")
        return 1
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=browser_path, headless=True, args=FLAGS)
        page = browser.new_page()
        # WebGPU wants a secure context; a page of our own that no network is asked for is one.
        page.route("**/*", lambda route: route.fulfill(body="<!doctype html><title>kernels</title>",
                                                       content_type="text/html"))
        page.goto("https://localhost/")
        refused = page.evaluate(OPEN)
        if refused:
            print(f"skipped: {browser.version} has no WebGPU here: {refused}")
            return 77
        failures = compile_all(page, files)
        # That errors would be seen at all: a module that cannot compile.
        planted = page.evaluate(COMPILE, "fn broken( {")
        if not planted:
            print("a module that cannot compile gave no error")
            failures += 1
        print(json.dumps({"browser": browser.version, "kernels": len(files), "errors": failures}))
        browser.close()
        return 1 if failures else 0


try:
    sys.exit(main())
except Error as error:
    print(f"the browser could not be driven: {error}")
    sys.exit(1)
