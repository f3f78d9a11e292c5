package main

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/eggo-k8s/eggo/internal/bundle"
	"github.com/eggo-k8s/eggo/internal/bundle/sign"
	"github.com/eggo-k8s/eggo/internal/testkit/bundletest"
	"github.com/eggo-k8s/eggo/internal/testkit/operationtest"
	"github.com/eggo-k8s/eggo/internal/testkit/phasestest"
)

// The scripts of testdata/script run this program, under both of its names, as a person would. The clock of their
// operations is swift.
func TestMain(m *testing.M) {
	program := func() { os.Exit(realMain(operationtest.Swift{})) }
	testscript.Main(m, map[string]func(){"eggo-tui": program, "eggo": program})
}

func TestScripts(t *testing.T) {
	t.Parallel()
	manual, err := os.ReadFile("../../internal/config/testdata/manual.yaml")
	if err != nil {
		t.Fatal(err)
	}
	testscript.Run(t, testscript.Params{
		Dir: "testdata/script",
		Setup: func(env *testscript.Env) error {
			env.Setenv("LANG", "C")
			for _, name := range []string{"EGGO_FAULTS", "GORACE"} { // see the Makefile
				env.Setenv(name, os.Getenv(name))
			}
			env.Setenv("HOME", env.WorkDir+"/home")
			if err := os.Mkdir(env.WorkDir+"/home", 0o700); err != nil {
				return err
			}
			if err := os.WriteFile(env.WorkDir+"/manual.yaml", manual, 0o600); err != nil {
				return err
			}
			fixed := strings.Replace(string(manual), "ip: 192.168.0.2 ", "ip: 192.168.0.1 ", 1)
			return os.WriteFile(env.WorkDir+"/fixed.yaml", []byte(fixed), 0o600)
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"status": exitStatus,
			"mode":   fileMode,
			"bundle": writeBundle,
			"keygen": makeKey,
			"sign":   signBundle,
			"forge":  forgeBundle,
			"minor":  otherVersion,
		},
	})
}

// exitStatus is "status N ARGS…": eggo-tui with these arguments ends with the exit code N.
func exitStatus(ts *testscript.TestScript, _ bool, args []string) {
	cmd := exec.Command("eggo-tui", args[1:]...)
	cmd.Dir = ts.MkAbs(".")
	cmd.Env = []string{"HOME=" + ts.Getenv("HOME"), "PATH=" + ts.Getenv("PATH"), "LANG=" + ts.Getenv("LANG"),
		"GORACE=" + ts.Getenv("GORACE")}
	path, err := lookPath("eggo-tui", ts.Getenv("PATH"))
	ts.Check(err)
	cmd.Path, cmd.Err = path, nil
	_ = cmd.Run()
	if got := strconv.Itoa(cmd.ProcessState.ExitCode()); got != args[0] {
		ts.Fatalf("exit code %s, want %s", got, args[0])
	}
}

func lookPath(name, path string) (string, error) {
	for dir := range strings.SplitSeq(path, ":") {
		if _, err := os.Stat(dir + "/" + name); err == nil {
			return dir + "/" + name, nil
		}
	}
	return "", exec.ErrNotFound
}

// fileMode is "mode 600 FILE".
func fileMode(ts *testscript.TestScript, _ bool, args []string) {
	info, err := os.Stat(ts.MkAbs(args[1]))
	ts.Check(err)
	if got := strconv.FormatUint(uint64(info.Mode().Perm()), 8); got != args[0] {
		ts.Fatalf("mode %s, want %s", got, args[0])
	}
}

// writeBundle is "bundle FILE": a small whole bundle.
func writeBundle(ts *testscript.TestScript, _ bool, args []string) {
	ts.Check(phasestest.WriteBundle(ts.MkAbs(args[0])))
}

// makeKey is "keygen NAME": the key NAME, NAME.pub, and NAME.signers, which trusts it as NAME.
func makeKey(ts *testscript.TestScript, _ bool, args []string) {
	pair, err := sign.Generate(args[0], nil)
	ts.Check(err)
	ts.Check(pair.Save(ts.MkAbs(args[0])))
	line, err := pair.AllowedLine(args[0])
	ts.Check(err)
	ts.Check(os.WriteFile(ts.MkAbs(args[0]+".signers"), []byte(line), 0o600))
}

// signBundle is "sign NAME BUNDLE".
func signBundle(ts *testscript.TestScript, _ bool, args []string) {
	file := ts.MkAbs(args[1])
	a, err := bundle.Open(file)
	ts.Check(err)
	key, err := sign.Load(context.Background(), ts.MkAbs(args[0]), "", nil)
	ts.Check(err)
	defer key.Close()
	armored, err := sign.Sign(context.Background(), key, sign.Namespace, bytes.NewReader(a.Sums()))
	ts.Check(err)
	ts.Check(os.WriteFile(bundle.SignatureOf(file), armored, 0o600))
}

// otherVersion is "minor FROM TO VERSION": the same bundle of another version of Kubernetes.
func otherVersion(ts *testscript.TestScript, _ bool, args []string) {
	ts.Check(bundletest.Forge(ts.MkAbs(args[0]), ts.MkAbs(args[1]), func(m *bundle.Manifest) {
		m.Kubernetes = args[2]
	}))
}

// forgeBundle is "forge FROM TO [DST]": the same with a word changed, or with its first program placed elsewhere; its
// sums are right.
func forgeBundle(ts *testscript.TestScript, _ bool, args []string) {
	ts.Check(bundletest.Forge(ts.MkAbs(args[0]), ts.MkAbs(args[1]), func(m *bundle.Manifest) {
		for i := range m.Members {
			if m.Members[i].Kind != bundle.Binary {
				continue
			}
			m.Members[i].Version = "other"
			if len(args) > 2 {
				m.Members[i].Dst = args[2]
			}
			return
		}
	}))
}
