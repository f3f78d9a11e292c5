package main

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"github.com/eggo-k8s/eggo/internal/output/cli"
	"github.com/eggo-k8s/eggo/internal/run/event"
	"github.com/eggo-k8s/eggo/internal/testkit/clitest"
)

// newShaveCmd would be shave.go: the first place.
func newShaveCmd(env *environment) *cobra.Command {
	var razor string
	cmd := &cobra.Command{Use: "shave [NAME]", Short: env.P.T("cli.shave.short"), Args: cli.AtMost(1),
		RunE: func(_ *cobra.Command, args []string) error {
			fmt.Fprintln(env.Stdout, "shaved", strings.Join(args, " "), razor)
			return nil
		}}
	cmd.Flags().StringVar(&razor, "razor", "", env.P.T("cli.flag.razor"))
	cmd.Flags().StringVar(new(string), "id", "", env.P.T("cli.flag.id"))
	return cmd
}

// A verb is its file, which verbs.go lists, its words, and what its flags take: nothing else has to know it. This adds
// one, and asks everybody who has to do with verbs.
func TestAVerbIsAFileItsWordsAndItsFlags(t *testing.T) {
	env, out := completionEnv(t)
	with := func() *cobra.Command {
		root := newRootCmd(env)
		root.AddCommand(newShaveCmd(env))
		cli.Localize(root, env.P)
		completions(env).Apply(root)
		return root
	}
	if root := with(); checkVerb(root, []string{"shave"}) != nil {
		t.Error("the program does not know it")
	} else if f := event.AsFault(checkVerb(root, []string{"shav"})); f == nil || f.Args["like"] != "shave" {
		t.Errorf("a slip of the finger: %+v", f)
	}
	says := func(args ...string) string {
		out.Reset()
		root := with()
		root.SetArgs(args)
		if err := root.ExecuteContext(context.Background()); err != nil {
			t.Errorf("%q: %v", args, err)
		}
		return out.String()
	}
	if got := says("shave", "chin", "--razor", "old"); got != "shaved chin old\n" {
		t.Errorf("it says %q", got)
	}
	if got := says("--help"); !strings.Contains(got, "cli.shave.short") {
		t.Errorf("the help, which shows a sentence that there is not by its key:\n%s", got)
	}
	dir := t.TempDir()
	says("man", dir)
	if list := clitest.MissingInManual(with(), dir); len(list) > 0 {
		t.Errorf("the manual lacks %v", list)
	}
	if got := says("__complete", "sha"); !strings.HasPrefix(got, "shave\t") {
		t.Errorf("a shell completes %q", got)
	}
	// The third place: what a flag takes that no verb had so far. What --id takes is known of all verbs.
	if list := clitest.WithoutCompletion(with()); !slices.Equal(list, []string{"shave --razor"}) {
		t.Errorf("nobody says what these take: %v", list)
	}
	if list := clitest.WithoutWord(with()); !slices.Equal(list, []string{"shave --razor string"}) {
		t.Errorf("the help shows a type for %v", list)
	}
	for _, cmd := range verbs(env) {
		if cmd.Name() == "shave" {
			t.Error("the verb of this test is a verb: take another one")
		}
	}
}

// Every verb stands in the document of the verbs, but those that say nothing of clusters.
func TestTheDocumentHasEveryVerb(t *testing.T) {
	env, _ := completionEnv(t)
	text, err := os.ReadFile("../../docs/verbs.md")
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for _, cmd := range verbs(env) {
		n++
		if name := cmd.Name(); !strings.Contains(string(text), "`"+name) && name != "version" && name != "man" {
			t.Errorf("docs/verbs.md does not have %s", name)
		}
	}
	if n < 20 {
		t.Errorf("only %d verbs", n)
	}
}
