#!/usr/bin/env python3
"""The page in headless Chromium, against a server with the default model. Skips where Chromium or selenium is missing.

  page_test.py BIN_FOLDER [--screenshots FOLDER]
"""
import concurrent.futures
import http.client
import gzip
import json
import pathlib
import shutil
import socket
import subprocess
import sys
import tempfile
import time
import unittest

from scripted_model import Scripted

BIN = pathlib.Path(sys.argv[1])
SHOTS = pathlib.Path(sys.argv[sys.argv.index("--screenshots") + 1]) if "--screenshots" in sys.argv else None
ROOT = pathlib.Path(__file__).parents[2]
MODEL = subprocess.run([sys.executable, ROOT / "tools" / "fetch_model.py"], check=True, capture_output=True, text=True).stdout.strip()

try:
    from selenium import webdriver
    from selenium.webdriver.common.by import By
    from selenium.webdriver.common.keys import Keys
    from selenium.webdriver.support.ui import WebDriverWait
except ImportError:
    print("page_test: selenium is missing")
    sys.exit(77)
if not shutil.which("chromedriver"):
    print("page_test: chromedriver is missing")
    sys.exit(77)


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


class WithPage(unittest.TestCase):
    """A server and a browser for the tests of a class; each begins on a page that remembers nothing."""
    @classmethod
    def flags(cls):
        return ["-m", MODEL]

    @classmethod
    def setUpClass(cls):
        cls.port = free_port()
        cls.server = subprocess.Popen([BIN / "mlxcel", "serve", *cls.flags(), "--port", str(cls.port), "--parallel", "2"],
                                      stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        for _ in range(600):
            try:
                if cls.get("/health")[0] == 200:
                    break
            except OSError:
                time.sleep(0.1)
        options = webdriver.ChromeOptions()
        for flag in ("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--window-size=1100,800"):
            options.add_argument(flag)
        options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
        cls.browser = webdriver.Chrome(options=options, service=webdriver.ChromeService(shutil.which("chromedriver")))
        cls.browser.set_script_timeout(30)

    @classmethod
    def tearDownClass(cls):
        cls.browser.quit()
        cls.server.terminate()
        cls.server.wait(30)

    def setUp(self):
        self.browser.get(f"http://127.0.0.1:{self.port}/")
        self.browser.execute_script("localStorage.clear()")
        self.browser.refresh()
        self.until(lambda: self.find("#model-name").text)

    @classmethod
    def get(cls, path, **headers):
        c = http.client.HTTPConnection("127.0.0.1", cls.port, timeout=30)
        c.request("GET", path, headers=headers)
        r = c.getresponse()
        return r.status, r.read(), r.headers

    @classmethod
    def post(cls, path, body):
        c = http.client.HTTPConnection("127.0.0.1", cls.port, timeout=300)
        c.request("POST", path, json.dumps(body))
        c.getresponse().read()
        c.close()

    def find(self, css):
        return self.browser.find_element(By.CSS_SELECTOR, css)

    def all(self, css):
        return self.browser.find_elements(By.CSS_SELECTOR, css)

    def until(self, condition, seconds=60):
        WebDriverWait(self.browser, seconds).until(lambda _: condition())

    def shot(self, name):
        if SHOTS:
            self.browser.save_screenshot(str(SHOTS / f"{name}.png"))

    def set(self, **values):
        self.find("#show-settings").click()
        for name, value in values.items():
            field = self.find(f"#settings [name={name}]")
            field.clear()
            field.send_keys(str(value))
        self.find("#settings [value=save]").click()

    def ask(self, text, wait=True):
        self.find("#prompt").send_keys(text, Keys.ENTER)
        if wait:
            self.until(lambda: self.find("#status").text == "Done")


class Choice(WithPage):
    """Two models: a small one whose answer is written down, and the default one."""
    @classmethod
    def flags(cls):
        folder = pathlib.Path(tempfile.mkdtemp())
        s = Scripted(folder / "parrot")
        s.script("Who are you?", ["A par", "rot."])
        s.write()
        (folder / "SmolLM2.gguf").symlink_to(MODEL)
        return ["--models-dir", folder, "-c", "1024"]

    def choose(self, name):
        [o for o in self.all("#model option") if o.text == name][0].click()

    def test_each_conversation_asks_the_chosen_model(self):
        self.assertEqual(sorted(o.text for o in self.all("#model option")), ["SmolLM2", "parrot"])
        self.set(temperature=0, max_tokens=8)
        self.choose("parrot")
        self.ask("Who are you?")
        self.assertEqual(self.find(".message.assistant .text").text, "A parrot.")
        self.until(lambda: "1024" in self.find("#model-name").text)
        self.choose("SmolLM2")
        self.find("#new-chat").click()
        self.ask("Who are you?")
        self.assertNotIn("parrot", self.find(".message.assistant .text").text)
        self.browser.refresh()
        self.until(lambda: self.all("#model option"))
        self.assertEqual(self.find("#model").get_attribute("value"), "SmolLM2")  # the choice is kept
        self.assertIn("loaded", {m["status"]["value"] for m in json.loads(self.get("/models")[1])["data"]})

    def test_dashboard_shows_the_chosen_model(self):
        self.set(max_tokens=4)
        self.choose("SmolLM2")
        self.ask("Hi.")
        self.find("#show-dashboard").click()
        self.until(lambda: len(self.all(".chart path:not(.area)[d]")) >= 7)
        self.assertIn("parrot:", self.find("#facts").text)
        self.assertIn("SmolLM2: loaded", self.find("#facts").text)


class Page(WithPage):
    def setUp(self):
        super().setUp()
        self.assertIn("SmolLM2", self.find("#model-name").text)
        self.assertFalse(self.find("#model").is_displayed())

    # Renders `text` as an answer, without the model.
    def rendered(self, text):
        return self.browser.execute_async_script(
            "const [text, done] = arguments; import('/web/markdown.js').then(({markdown}) => {"
            "const d = document.createElement('div'); d.append(...markdown(text)); done(d.innerHTML); });", text)

    def test_chat_streams_and_is_kept(self):
        self.set(temperature=0, max_tokens=24)
        self.ask("Name three colours.")
        answer = self.find(".message.assistant .text").text
        self.assertTrue(answer)
        self.assertRegex(self.find(".message.assistant .facts").text, r"24 tokens, [\d.]+ tokens a second, .*cut at the longest")
        self.browser.refresh()
        self.until(lambda: self.all(".message.assistant"))
        self.assertEqual(self.find(".message.assistant .text").text, answer)
        [b for b in self.all(".message.assistant .tools button") if b.text == "Regenerate"][0].click()
        self.until(lambda: self.find("#status").text == "Done")
        self.assertEqual(self.find(".message.assistant .text").text, answer)  # temperature 0

    def test_edit_and_second_conversation(self):
        self.set(temperature=0, max_tokens=4)
        self.ask("Say one.")
        [b for b in self.all(".message.user .tools button") if b.text == "Edit"][0].click()
        self.assertEqual(self.find("#prompt").get_attribute("value"), "Say one.")
        self.assertEqual(self.all(".message"), [])
        self.find("#prompt").send_keys(" And two.", Keys.ENTER)
        self.until(lambda: self.find("#status").text == "Done")
        self.assertEqual(self.find(".message.user .text").text, "Say one. And two.")
        self.find("#new-chat").click()
        self.ask("Hello.")
        self.assertEqual(len(self.all("#chats li")), 2)
        self.all("#chats .open")[1].click()
        self.assertEqual(self.find(".message.user .text").text, "Say one. And two.")

    def test_stop(self):
        self.set(max_tokens=2000)
        self.ask("Write a long story.", wait=False)
        self.until(lambda: self.find("#status").text == "Answering")
        self.find("#stop").click()
        self.until(lambda: self.find("#status").text == "Stopped")
        def idle():
            return not any(s["is_processing"] for s in json.loads(self.get("/slots")[1]))
        self.until(idle, 10)

    def test_dashboard(self):
        self.find("#show-dashboard").click()
        self.until(lambda: len(self.all(".chart path:not(.area)[d]")) >= 7)
        self.assertIn("SmolLM2", self.find("#facts").text)
        if SHOTS:  # a picture wants something to see
            with concurrent.futures.ThreadPoolExecutor(3) as pool:
                asked = [pool.submit(self.post, "/v1/completions", {"prompt": f"Story {i}. " + "Once upon a time. " * 9 * i,
                                                                    "max_tokens": 40, "ignore_eos": True}) for i in range(6)]
                asked[-2].result()
                self.shot("dashboard")
        self.assertTrue(all(f.get_attribute("aria-label") for f in self.all(".chart svg")))

    def test_output_never_runs(self):
        for bad in ("<script>window.owned=1</script>", "<img src=x onerror='window.owned=1'>", "[x](javascript:window.owned=1)",
                    "`<b>`", "**<i onclick=window.owned=1>x</i>**", "```html\n<script>window.owned=1</script>\n```",
                    "|<svg onload=window.owned=1>|\n|---|\n|x|"):
            html = self.rendered(bad)
            for tag in ("<script", "<img", "<svg", "<i ", "javascript:window.owned=1\""):
                self.assertNotIn(tag, html, bad)
        self.assertIsNone(self.browser.execute_script("return window.owned ?? null"))
        # And if something did get in, the policy holds.
        self.browser.execute_script("const s = document.createElement('script'); s.textContent = 'window.owned = 1';"
                                    "document.body.append(s)")
        self.assertIsNone(self.browser.execute_script("return window.owned ?? null"))
        self.assertTrue(any("Content Security Policy" in l["message"] for l in self.browser.get_log("browser")))

    def test_markdown(self):
        for text, html in (("a **b** `c` *d*", "<p>a <strong>b</strong> <code>c</code> <em>d</em></p>"),
                           ("2*3*4 snake_case_name", "<p>2*3*4 snake_case_name</p>"),
                           ("# T\ntext", "<h3>T</h3><p>text</p>"),
                           ("3. x\n4. y", '<ol start="3"><li>x</li><li>y</li></ol>'),
                           ("- a\n  - b\n- c", "<ul><li>a<ul><li>b</li></ul></li><li>c</li></ul>"),
                           ("|a|b|\n|-|-|\n|1|2|", "<table><thead><tr><th>a</th><th>b</th></tr></thead><tbody><tr><td>1</td><td>2</td>"
                            "</tr></tbody></table>"),
                           ("> q\n> r", "<blockquote><p>q<br>r</p></blockquote>")):
            self.assertEqual(self.rendered(text), html)
        self.assertIn("a &lt; b", self.rendered("```c\na < b"))  # a fence that is still open

    def test_keyboard_narrow_and_dark(self):
        if SHOTS:
            self.set(temperature=0, max_tokens=90)
            self.ask("Compare tea and coffee in a small table.")
            self.shot("light")
        self.browser.set_window_size(420, 800)
        self.shot("narrow")
        self.assertFalse(self.find("#side").is_displayed())
        self.find("#toggle-side").send_keys(Keys.ENTER)
        self.assertTrue(self.find("#side").is_displayed())
        self.assertEqual(self.find("#toggle-side").get_attribute("aria-expanded"), "true")
        self.assertLessEqual(self.browser.execute_script("return document.documentElement.scrollWidth"), 420 + 80)
        light = self.browser.execute_script("return getComputedStyle(document.body).backgroundColor")
        self.browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [{"name": "prefers-color-scheme", "value": "dark"}]})
        self.assertNotEqual(light, self.browser.execute_script("return getComputedStyle(document.body).backgroundColor"))
        self.browser.set_window_size(1100, 800)
        self.shot("dark")
        self.browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": []})

    def test_nothing_is_logged_as_an_error(self):
        self.browser.get_log("browser")
        self.set(max_tokens=4)
        self.ask("Hi.")
        self.assertEqual([l for l in self.browser.get_log("browser") if l["level"] == "SEVERE"], [])

    def test_files_are_cached_and_compressed(self):
        status, body, headers = self.get("/web/app.js", **{"Accept-Encoding": "gzip"})
        self.assertEqual((status, headers["Content-Encoding"]), (200, "gzip"))
        self.assertEqual(gzip.decompress(body), (ROOT / "src/server/web/app.js").read_bytes())
        self.assertEqual(self.get("/web/app.js")[1], gzip.decompress(body))
        status, body, _ = self.get("/web/app.js", **{"If-None-Match": headers["ETag"]})
        self.assertEqual((status, body), (304, b""))
        for path in ("/web/../server.cc", "/web/", "/web/app.js/x"):
            self.assertEqual(self.get(path)[0], 404, path)
        self.assertIn("default-src 'none'", self.get("/")[2]["Content-Security-Policy"])


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=2)
