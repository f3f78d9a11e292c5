package main

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/eggo-k8s/eggo/internal/operation/store"
	"github.com/eggo-k8s/eggo/internal/output/i18n"
	"github.com/eggo-k8s/eggo/internal/run/event"
	"github.com/eggo-k8s/eggo/internal/run/journal"
	"github.com/eggo-k8s/eggo/internal/testkit/clitest"
)

func completionEnv(t *testing.T, args ...string) (*environment, *bytes.Buffer) {
	t.Helper()
	out := new(bytes.Buffer)
	home := t.TempDir()
	return &environment{
		Stdin: strings.NewReader(""), Stdout: out, Stderr: new(bytes.Buffer),
		Args: append([]string{"eggo-tui"}, args...), P: i18n.NewPrinter(i18n.English),
		Getenv: func(name string) string { return map[string]string{"HOME": home}[name] },
	}, out
}

// A flag that is new has to say what it takes, and what is said has to be of a flag or verb that there is.
func TestEveryFlagSaysWhatItTakes(t *testing.T) {
	env, _ := completionEnv(t)
	root := newRootCmd(env)
	if list := clitest.WithoutCompletion(root); len(list) > 0 {
		t.Errorf("completion.go does not say what these take: %s", strings.Join(list, ", "))
	}
	env, _ = completionEnv(t)
	if unused := completions(env).Apply(newRootCmd(env)); len(unused) > 0 {
		t.Errorf("there are none of these: %s", strings.Join(unused, ", "))
	}
}

// twoClusters is a state directory: rack of the manual's file with a run, shelf with an interrupted one.
func twoClusters(t *testing.T) (root, run string) {
	t.Helper()
	root = t.TempDir()
	manual, err := os.ReadFile("../../internal/config/testdata/manual.yaml")
	if err != nil {
		t.Fatal(err)
	}
	// the manual's own mistake
	manual = bytes.Replace(manual, []byte("ip: 192.168.0.2 "), []byte("ip: 192.168.0.1 "), 1)
	for _, cluster := range []string{"rack", "shelf"} {
		c, err := journal.Open(root, cluster)
		if err != nil {
			t.Fatal(err)
		}
		log, err := c.NewRun("deploy", time.Date(2026, 11, 22, 9, 0, 0, 0, time.UTC))
		if err != nil {
			t.Fatal(err)
		}
		run = log.ID()
		bus := event.NewBus(nil, log)
		for _, e := range []event.Event{
			event.RunStarted{Cluster: cluster, Verb: "deploy"},
			event.PlanMade{
				Hosts: []event.Host{{Name: cluster + "-1"}},
				Steps: []event.Step{{ID: "node/swap/" + cluster + "-1", Host: cluster + "-1"}},
			},
		} {
			if err := bus.Emit(e); err != nil {
				t.Fatal(err)
			}
		}
		if err := log.Close(); err != nil {
			t.Fatal(err)
		}
		if cluster == "rack" {
			if err := os.WriteFile(filepath.Join(root, cluster, store.ConfigName), manual, 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
	return root, run
}

// The last word of each line is the one that is being typed.
func TestShellsCompleteValues(t *testing.T) {
	root, shelfRun := twoClusters(t)
	for line, want := range map[string]string{
		"status --id ":                               "rack shelf :4",
		"status --id s":                              "shelf :4",
		"deploy --lang ":                             "en zh :4",
		"deploy --output ":                           "text json :4",
		"list --output ":                             "text json :4",
		"certs list --output ":                       "text json :4",
		"deploy --host-keys a":                       "ask accept-new :4",
		"deploy --on-failure r":                      "retry=1 retry=3 :4",
		"join --type master,":                        "master,worker master,etcd :6",
		"join --arch ":                               "amd64 arm64 :4",
		"join ":                                      ":4",
		"deploy ":                                    ":4",
		"deploy --file ":                             "yaml yml :8",
		"deploy --state-dir ":                        ":16",
		"attach --id shelf ":                         shelfRun + "\tshelf deploy :4",
		"attach --id shelf " + shelfRun + " ":        ":4",
		"logs --id shelf --node ":                    "shelf-1 :4",
		"logs --id rack --step node":                 "node/swap/rack-1 :4",
		"delete --id rack test":                      "test0 test1 :4",
		"delete --id rack test0 test":                "test1 :4",
		"deploy --id rack --limit test1,role:l":      "test1,role:loadbalancer :6",
		"cleanup --id shelf --node ":                 ":6",
		"join --id rack -f new.yaml --limit e":       "etcd-0 :6",
		"deploy --file nowhere.yaml --limit ":        ":6",
		"template --password ":                       ":4",
		"completion ":                                "bash zsh fish :4",
		"etcd restore ":                              ":0",
		"status --lang zh --id r":                    "rack :4",
		"delete --state-dir /no/such/directory k8s-": ":4",
	} {
		args := append([]string{"__complete"}, strings.Split(line, " ")...)
		if !strings.Contains(line, "state-dir") && !strings.HasPrefix(line, "template") &&
			!strings.HasPrefix(line, "comp") {
			at := slices.IndexFunc(args, func(w string) bool { return strings.HasPrefix(w, "-") })
			if at < 0 {
				at = len(args) - 1
			}
			args = slices.Insert(args, at, "--state-dir", root)
		}
		env, out := completionEnv(t, args...)
		if code := run(context.Background(), env); code != 0 {
			t.Errorf("%q: exit code %d: %s", line, code, env.Stderr)
		}
		if got := strings.Join(strings.Split(strings.TrimSpace(out.String()), "\n"), " "); got != want {
			t.Errorf("%q:\n got %q\nwant %q", line, got, want)
		}
	}
}

// --output is one name with one set of values and one sentence in both programs, and -o is --out.
func TestOutputIsTheSameEverywhere(t *testing.T) {
	for _, lang := range []i18n.Lang{i18n.English, i18n.Chinese} {
		env, _ := completionEnv(t)
		env.P = i18n.NewPrinter(lang)
		for _, flag := range clitest.DifferentOutput(newRootCmd(env), env.P.T("cli.flag.output")) {
			t.Error(flag)
		}
	}
}

// Each verb that the help shows has a page, with its flags.
func TestTheManualHasEveryVerb(t *testing.T) {
	dir := t.TempDir()
	env, _ := completionEnv(t, "man", dir)
	if code := run(context.Background(), env); code != 0 {
		t.Fatalf("exit code %d: %s", code, env.Stderr)
	}
	root := newRootCmd(env)
	if list := clitest.MissingInManual(root, dir); len(list) > 0 {
		t.Errorf("the manual lacks: %s", strings.Join(list, ", "))
	}
}

// What a flag takes is said in a word of the user's, FILE or DURATION, in both languages.
func TestNoFlagShowsAType(t *testing.T) {
	for _, lang := range []i18n.Lang{i18n.English, i18n.Chinese} {
		env, _ := completionEnv(t)
		env.P = i18n.NewPrinter(lang)
		if list := clitest.WithoutWord(newRootCmd(env)); len(list) > 0 {
			t.Errorf("%s: %s", lang, strings.Join(list, ", "))
		}
	}
}
