package main

import (
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/eggo-k8s/eggo/internal/bundle"
	"github.com/eggo-k8s/eggo/internal/testkit/buildtest"
	"github.com/eggo-k8s/eggo/internal/testkit/bundletest"
)

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"eggo-bundle": func() { os.Exit(realMain()) }})
}

// TestScripts runs the verbs as a user does, each script with an upstream of its own: spec.yaml, keys.gpg and mirrors
// are there.
func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir: "testdata/script",
		Setup: func(e *testscript.Env) error {
			u := buildtest.New(e.T().(testing.TB))
			e.Setenv("XDG_CACHE_HOME", e.Cd+"/cache")
			e.Setenv("EGGO_LANG", "en")
			for _, name := range []string{"EGGO_FAULTS", "GORACE"} { // see the Makefile
				e.Setenv(name, os.Getenv(name))
			}
			e.Setenv("REGISTRY", u.Host)
			e.Values["upstream"] = u
			for name, text := range map[string]string{
				"spec.yaml": u.Spec("registry.test/app:1"), "keys.gpg": string(u.Keyring),
				"mirrors": "# test\n" + strings.Join(u.Mirrors(), "\n") + "\n",
			} {
				if err := os.WriteFile(e.Cd+"/"+name, []byte(text), 0o600); err != nil {
					return err
				}
			}
			return nil
		},
		Cmds: map[string]func(ts *testscript.TestScript, neg bool, args []string){"cut": cut, "flip": flip,
			"noise": noise, "publish": publish, "forge": forge, "handmade": handmade, "pack": packed},
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

// noise FILE KIB writes so much of what nothing compresses, the same each time.
func noise(ts *testscript.TestScript, _ bool, args []string) {
	kib, err := strconv.Atoi(args[1])
	ts.Check(err)
	data := make([]byte, kib<<10)
	rand.NewChaCha8([32]byte{}).Read(data)
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), data, 0o600))
}

// publish PATH FILE changes what upstream has there.
func publish(ts *testscript.TestScript, _ bool, args []string) {
	ts.Value("upstream").(*buildtest.Upstream).Set(args[0], []byte(ts.ReadFile(args[1])))
}

// forge FROM TO MEMBER DST places a member elsewhere, with sums that are right.
func forge(ts *testscript.TestScript, _ bool, args []string) {
	ts.Check(bundletest.Forge(ts.MkAbs(args[0]), ts.MkAbs(args[1]), func(m *bundle.Manifest) {
		for i := range m.Members {
			if m.Members[i].Path == args[2] {
				m.Members[i].Dst = args[3]
			}
		}
	}))
}

// handmade DIR ARCH LAYOUT writes what people packed by hand for the original eggo.
func handmade(ts *testscript.TestScript, _ bool, args []string) {
	ts.Check(buildtest.Handmade(ts.MkAbs(args[0]), args[1], args[2] == "typed"))
}

// packed runs the command pack FILE DIR, which makes an archive of a directory's content.
func packed(ts *testscript.TestScript, _ bool, args []string) {
	ts.Check(buildtest.Pack(ts.MkAbs(args[0]), ts.MkAbs(args[1])))
}
