package main

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/eggo-k8s/eggo/internal/output/i18n"
	"github.com/eggo-k8s/eggo/internal/testkit/ptytest"
)

func says(t *testing.T, text string, words ...string) {
	t.Helper()
	for _, w := range words {
		if !strings.Contains(text, w) {
			t.Errorf("%q was not said:\n%s", w, text)
		}
	}
}

// atMenu is the menu line by line: what is typed, a line after the other, and what is said. Its home directory has the
// state directory.
func atMenu(t *testing.T, home string, typed ...string) string {
	t.Helper()
	said := new(bytes.Buffer)
	env := &environment{
		P: i18n.NewPrinter(i18n.English), Args: []string{"eggo-tui"}, Stdout: said, Stderr: said,
		State:  filepath.Join(home, "state"),
		Stdin:  strings.NewReader(strings.Join(typed, "\n") + "\n"),
		Getenv: func(k string) string { return map[string]string{"HOME": home}[k] },
	}
	o := menuOptions{accessible: true}
	if err := menu(t.Context(), env, o); err != nil {
		t.Errorf("%v\n%s", err, said)
	}
	return said.String()
}

// The wizard line by line keeps what was typed on this machine, begins nothing, and goes on with it the next time.
func TestTheWizardLineByLineKeepsItsDraft(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	said := atMenu(t, home, "1", "prod", "", "eggo", "", "geheim", ":q", "q")
	says(t, said, "Step 1 of 9", filepath.Join(home, ".eggo", "deploy.yaml"), "Your input is saved")
	if strings.Contains(said, "geheim") {
		t.Error("the password is shown")
	}
	state := filepath.Join(home, "state")
	if all, _ := filepath.Glob(filepath.Join(state, "*")); len(all) != 1 || filepath.Base(all[0]) != "draft.json" {
		t.Errorf("there is %v", all)
	}
	data, err := os.ReadFile(filepath.Join(state, "draft.json"))
	if err != nil || !strings.Contains(string(data), "prod") || strings.Contains(string(data), "geheim") {
		t.Errorf("%s %v", data, err)
	}
	says(t, atMenu(t, home, "1", "1", ":q", "q"), "prod", "Step 2 of 9")
}

// An interrupt of the process leads from a question back to the menu, and from the menu out.
func TestAnInterruptLineByLine(t *testing.T) {
	t.Parallel()
	var i interrupts
	out := ptytest.NewHeard()
	in, typed := io.Pipe()
	home := t.TempDir()
	env := &environment{
		P: i18n.NewPrinter(i18n.English), Args: []string{"eggo-tui"}, Stdout: out, Stderr: out, Stdin: in,
		State:      filepath.Join(home, "state"),
		Interrupts: &i, Getenv: func(k string) string { return map[string]string{"HOME": home}[k] },
	}
	ended := make(chan error, 1)
	o := menuOptions{accessible: true}
	go func() { ended <- menu(t.Context(), env, o) }()
	out.Wait(t, "q quit:")
	if _, err := typed.Write([]byte("1\n")); err != nil {
		t.Fatal(err)
	}
	out.Wait(t, "Cluster name")
	i.halt()
	out.Wait(t, "Your input is saved", "q quit:")
	i.halt()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

// What a person types as a password is not on the terminal; afterwards the terminal shows again what is typed.
func TestAPasswordIsNotEchoed(t *testing.T) {
	t.Parallel()
	f, tty := ptytest.New(t)
	env := &environment{P: i18n.NewPrinter(i18n.English), Stdin: tty, Stdout: tty,
		Getenv: func(string) string { return "" }}
	term := lineTerminal(env)
	back, err := term.Hush()
	if err != nil {
		t.Fatal(err)
	}
	for _, shown := range []bool{false, true} {
		got := make(chan string, 1)
		go func() { text, _ := readLine(term.In); got <- text }()
		if _, err := f.WriteString("geheim\n"); err != nil {
			t.Fatal(err)
		}
		if text := <-got; text != "geheim" {
			t.Errorf("%q", text)
		}
		if !shown {
			back()
			if _, err := term.Out.Write([]byte("read\n")); err != nil {
				t.Fatal(err)
			}
			if seen := until(t, f, "read"); strings.Contains(seen, "geheim") {
				t.Errorf("%q", seen)
			}
			continue
		}
		until(t, f, "geheim")
	}
}

// until reads what is on the terminal until a text is there.
func until(t *testing.T, f *os.File, text string) string {
	t.Helper()
	var seen []byte
	buf := make([]byte, 4096)
	if err := f.SetReadDeadline(time.Now().Add(2 * time.Minute)); err != nil {
		t.Fatal(err)
	}
	for !strings.Contains(string(seen), text) {
		n, err := f.Read(buf)
		if err != nil {
			t.Fatalf("%v after %q", err, seen)
		}
		seen = append(seen, buf[:n]...)
	}
	if err := f.SetReadDeadline(time.Time{}); err != nil {
		t.Fatal(err)
	}
	return string(seen)
}
