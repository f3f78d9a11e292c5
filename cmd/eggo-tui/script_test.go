package main

import (
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

// The scripts of testdata/script run this program, under both of its names, as a person would.
func TestMain(m *testing.M) {
	program := func() { os.Exit(realMain()) }
	testscript.Main(m, map[string]func(){"eggo-tui": program, "eggo": program})
}

func TestScripts(t *testing.T) {
	manual, err := os.ReadFile("../../internal/config/testdata/manual.yaml")
	if err != nil {
		t.Fatal(err)
	}
	testscript.Run(t, testscript.Params{
		Dir: "testdata/script",
		Setup: func(env *testscript.Env) error {
			env.Setenv("LANG", "C")
			env.Setenv("HOME", env.WorkDir+"/home")
			if err := os.Mkdir(env.WorkDir+"/home", 0o700); err != nil {
				return err
			}
			if err := os.WriteFile(env.WorkDir+"/manual.yaml", manual, 0o600); err != nil {
				return err
			}
			mended := strings.Replace(string(manual), "ip: 192.168.0.2 ", "ip: 192.168.0.1 ", 1)
			return os.WriteFile(env.WorkDir+"/mended.yaml", []byte(mended), 0o600)
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"status": exitStatus,
			"mode":   fileMode,
		},
	})
}

// exitStatus is "status N ARGS…": eggo-tui with these arguments ends with the exit code N.
func exitStatus(ts *testscript.TestScript, _ bool, args []string) {
	cmd := exec.Command("eggo-tui", args[1:]...)
	cmd.Dir = ts.MkAbs(".")
	cmd.Env = []string{"HOME=" + ts.Getenv("HOME"), "PATH=" + ts.Getenv("PATH"), "LANG=" + ts.Getenv("LANG")}
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
