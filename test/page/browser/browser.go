// Package browser drives a headless Chromium by its DevTools protocol: as much of it as tests of the page and
// screenshots need.
package browser

import (
	"bufio"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"time"

	"github.com/coder/websocket"
)

// ErrNone: this machine has no Chromium.
var ErrNone = errors.New("no Chromium on this machine")

// Browser is a Chromium with one tab.
type Browser struct {
	cmd  *exec.Cmd
	dir  string
	conn *websocket.Conn
	tab  string
	last int
	// Log has what the page wrote to the console, and what the browser refused.
	Log []string
	// Asked are the requests of the page, each with its method, Said the dialogs that were opened.
	Asked, Said []string
}

// Start starts a Chromium. Certificates are not verified: it is for servers of tests on loopback.
func Start(ctx context.Context) (*Browser, error) {
	path := ""
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome"} {
		if p, err := exec.LookPath(name); err == nil && path == "" {
			path = p
		}
	}
	if path == "" {
		return nil, ErrNone
	}
	dir, err := os.MkdirTemp("", "eggo-browser-")
	if err != nil {
		return nil, err
	}
	b := &Browser{dir: dir}
	b.cmd = exec.CommandContext(ctx, path, "--headless=new", "--no-sandbox", "--disable-gpu", "--hide-scrollbars",
		"--ignore-certificate-errors", "--disable-background-networking", "--disable-extensions", "--no-first-run",
		"--disable-dev-shm-usage", "--force-color-profile=srgb", "--user-data-dir="+dir, "--remote-debugging-port=0",
		"about:blank")
	b.cmd.WaitDelay = 5 * time.Second
	out, err := b.cmd.StderrPipe()
	if err == nil {
		err = b.cmd.Start()
	}
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	lines := bufio.NewScanner(out)
	for lines.Scan() {
		if _, at, is := strings.Cut(lines.Text(), "DevTools listening on "); is {
			go func() {
				for lines.Scan() { // else it waits for its words to be read
					continue
				}
			}()
			return b, b.attach(ctx, at)
		}
	}
	return nil, errors.Join(errors.New("Chromium did not start"), b.Close())
}

func (b *Browser) attach(ctx context.Context, at string) error {
	conn, _, err := websocket.Dial(ctx, at, &websocket.DialOptions{HTTPClient: &http.Client{}})
	if err != nil {
		return err
	}
	conn.SetReadLimit(256 << 20)
	b.conn = conn
	var targets struct {
		TargetInfos []struct{ TargetID, Type string }
	}
	if err := b.Call(ctx, "Target.getTargets", nil, &targets); err != nil {
		return err
	}
	var session struct{ SessionID string }
	for _, t := range targets.TargetInfos {
		if t.Type == "page" && session.SessionID == "" {
			if err := b.Call(ctx, "Target.attachToTarget", map[string]any{"targetId": t.TargetID, "flatten": true},
				&session); err != nil {
				return err
			}
		}
	}
	b.tab = session.SessionID
	for _, domain := range []string{"Page", "Runtime", "Network", "Log"} {
		if err := b.Call(ctx, domain+".enable", nil, nil); err != nil {
			return err
		}
	}
	return nil
}

// Close ends the browser.
func (b *Browser) Close() error {
	if b.conn != nil {
		_ = b.conn.CloseNow()
	}
	err := b.cmd.Process.Kill()
	_ = b.cmd.Wait() // it was killed
	return errors.Join(err, os.RemoveAll(b.dir))
}

type message struct {
	ID     int             `json:"id"`
	Method string          `json:"method"`
	Params json.RawMessage `json:"params"`
	Result json.RawMessage `json:"result"`
	Error  *struct {
		Message string `json:"message"`
	} `json:"error"`
}

// Call calls a method of the protocol.
func (b *Browser) Call(ctx context.Context, method string, params, into any) error {
	b.last++
	id := b.last
	out := map[string]any{"id": id, "method": method}
	if params != nil {
		out["params"] = params
	}
	if b.tab != "" {
		out["sessionId"] = b.tab
	}
	text, err := json.Marshal(out)
	if err != nil {
		return err
	}
	if err := b.conn.Write(ctx, websocket.MessageText, text); err != nil {
		return err
	}
	for {
		m, err := b.next(ctx)
		switch {
		case err != nil:
			return fmt.Errorf("%s: %w", method, err)
		case m.ID != id:
			continue
		case m.Error != nil:
			return fmt.Errorf("%s: %s", method, m.Error.Message)
		case into == nil:
			return nil
		}
		return json.Unmarshal(m.Result, into)
	}
}

func (b *Browser) next(ctx context.Context) (message, error) {
	_, text, err := b.conn.Read(ctx)
	var m message
	if err == nil {
		err = json.Unmarshal(text, &m)
	}
	switch m.Method {
	case "Runtime.exceptionThrown", "Log.entryAdded", "Runtime.consoleAPICalled":
		b.Log = append(b.Log, string(m.Params))
	case "Network.requestWillBeSent", "Page.javascriptDialogOpening":
		if err == nil {
			err = b.note(ctx, m)
		}
	}
	return m, err
}

// note keeps what the page asked for, and closes the dialog that it opened.
func (b *Browser) note(ctx context.Context, m message) error {
	var p struct {
		Request       struct{ Method, URL string }
		Type, Message string
	}
	if err := json.Unmarshal(m.Params, &p); err != nil {
		return err
	}
	if m.Method == "Network.requestWillBeSent" {
		b.Asked = append(b.Asked, p.Request.Method+" "+p.Request.URL)
		return nil
	}
	if p.Type != "beforeunload" { // of a form with something in it
		b.Said = append(b.Said, p.Type+": "+p.Message)
	}
	b.last++
	text, err := json.Marshal(map[string]any{"id": b.last, "sessionId": b.tab,
		"method": "Page.handleJavaScriptDialog", "params": map[string]any{"accept": true}})
	if err != nil {
		return err
	}
	return b.conn.Write(ctx, websocket.MessageText, text)
}

// Cookie sets a cookie for a server.
func (b *Browser) Cookie(ctx context.Context, url string, c *http.Cookie) error {
	return b.Call(ctx, "Network.setCookie", map[string]any{"url": url, "name": c.Name, "value": c.Value, "path": "/",
		"secure": c.Secure, "httpOnly": c.HttpOnly}, nil)
}

// Screen is the size of the window, and what the reader prefers.
func (b *Browser) Screen(ctx context.Context, width, height int, scale float64, dark, phone bool) error {
	err := b.Call(ctx, "Emulation.setDeviceMetricsOverride", map[string]any{"width": width, "height": height,
		"deviceScaleFactor": scale, "mobile": phone}, nil)
	if err != nil {
		return err
	}
	return b.Call(ctx, "Emulation.setEmulatedMedia", map[string]any{"features": []map[string]string{
		{"name": "prefers-color-scheme", "value": map[bool]string{true: "dark", false: "light"}[dark]},
		{"name": "prefers-reduced-motion", "value": "reduce"}}}, nil)
}

// Language of the reader.
func (b *Browser) Language(ctx context.Context, lang string) error {
	return b.Call(ctx, "Network.setExtraHTTPHeaders", map[string]any{"headers": map[string]string{
		"Accept-Language": lang}}, nil)
}

// Open opens a page, and waits until it is loaded. The page before it is still there for a moment: it is marked.
func (b *Browser) Open(ctx context.Context, url string) error {
	if err := b.Eval(ctx, `void (window.left = true)`, nil); err != nil {
		return err
	}
	var res struct{ ErrorText string }
	if err := b.Call(ctx, "Page.navigate", map[string]any{"url": url}, &res); err != nil {
		return err
	}
	if res.ErrorText != "" {
		return errors.New(res.ErrorText)
	}
	return b.Wait(ctx, `!window.left && document.readyState === "complete" && location.href !== "about:blank"`)
}

// Eval evaluates an expression of JavaScript; into may be nil.
func (b *Browser) Eval(ctx context.Context, expression string, into any) error {
	var res struct {
		Result           struct{ Value json.RawMessage }
		ExceptionDetails *struct {
			Text      string
			Exception struct{ Description string }
		}
	}
	err := b.Call(ctx, "Runtime.evaluate", map[string]any{"expression": expression, "awaitPromise": true,
		"returnByValue": true}, &res)
	switch {
	case err != nil:
		return err
	case res.ExceptionDetails != nil:
		return errors.New(res.ExceptionDetails.Text + " " + res.ExceptionDetails.Exception.Description)
	case into == nil || len(res.Result.Value) == 0:
		return nil
	}
	return json.Unmarshal(res.Result.Value, into)
}

// Wait waits until an expression is true.
func (b *Browser) Wait(ctx context.Context, expression string) error {
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for {
		is := false
		// while a page is loaded, nothing can be evaluated
		if err := b.Eval(ctx, expression, &is); err == nil && is {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("%s: %w", expression, ctx.Err())
		case <-tick.C:
		}
	}
}

// Press presses a key.
func (b *Browser) Press(ctx context.Context, key string) error {
	text := key
	if len([]rune(key)) > 1 {
		text = map[string]string{"Enter": "\r"}[key]
	}
	for _, kind := range []string{"keyDown", "keyUp"} {
		p := map[string]any{"type": kind, "key": key}
		if code := map[string]int{"Enter": 13, "Escape": 27, "Tab": 9, "ArrowDown": 40, "ArrowUp": 38}[key]; code > 0 {
			p["windowsVirtualKeyCode"] = code
		}
		if kind == "keyDown" && text != "" {
			p["text"] = text
		}
		if err := b.Call(ctx, "Input.dispatchKeyEvent", p, nil); err != nil {
			return err
		}
	}
	return nil
}

// Picture is a screenshot of the window, as WebP.
func (b *Browser) Picture(ctx context.Context) ([]byte, error) {
	var res struct{ Data string }
	err := b.Call(ctx, "Page.captureScreenshot", map[string]any{"format": "webp", "quality": 85}, &res)
	if err != nil {
		return nil, err
	}
	return base64.StdEncoding.DecodeString(res.Data)
}
