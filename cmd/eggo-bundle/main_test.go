package main

import (
	"os"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/eggo-k8s/eggo/internal/bundle/build/buildtest"
)

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"eggo-bundle": func() { os.Exit(realMain()) }})
}

// TestScripts runs the verbs as a user does, each script with an upstream of its own: spec.yaml, keys.gpg and mirrors are there.
func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir: "testdata/script",
		Setup: func(e *testscript.Env) error {
			u := buildtest.New(e.T().(testing.TB))
			e.Setenv("XDG_CACHE_HOME", e.Cd+"/cache")
			e.Setenv("EGGO_LANG", "en")
			for name, text := range map[string]string{"spec.yaml": u.Spec("registry.test/app:1"), "keys.gpg": string(u.Keyring), "mirrors": "# test\n" + strings.Join(u.Mirrors(), "\n") + "\n"} {
				if err := os.WriteFile(e.Cd+"/"+name, []byte(text), 0o600); err != nil {
					return err
				}
			}
			return nil
		},
		Cmds: map[string]func(ts *testscript.TestScript, neg bool, args []string){"cut": cut, "flip": flip},
	})
}

// cut FILE makes the file one byte shorter.
func cut(ts *testscript.TestScript, _ bool, args []string) {
	st, err := os.Stat(ts.MkAbs(args[0]))
	ts.Check(err)
	ts.Check(os.Truncate(ts.MkAbs(args[0]), st.Size()-1))
}

// flip FILE changes a bit in its middle.
func flip(ts *testscript.TestScript, _ bool, args []string) {
	data, err := os.ReadFile(ts.MkAbs(args[0]))
	ts.Check(err)
	data[len(data)/2] ^= 1
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), data, 0o600))
}
