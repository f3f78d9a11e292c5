package e2e

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
	"unicode"

	"github.com/eggo-k8s/eggo/test/e2e/stand"
)

// spoken is what a program says in a terminal, as it comes: for a person who hears it line by line.
type spoken struct {
	*terminal
	file string
	at   int // what was heard by now
}

// listen begins to record what the terminal shows from now on.
func listen(x *terminal) *spoken {
	x.t.Helper()
	s := &spoken{terminal: x, file: filepath.Join(x.s.Dir, "spoken")}
	must(x.t, "record", os.RemoveAll(s.file))
	must(x.t, "record", x.tmux(x.t.Context(), "pipe-pane", "-t", "t", "cat >> "+s.file).Run())
	return s
}

// text is all that was said.
func (s *spoken) text() string {
	data, _ := os.ReadFile(s.file) // nothing was said yet
	return strings.ReplaceAll(string(data), "\r\n", "\n")
}

// hear waits until each of the words is said, one after the other.
func (s *spoken) hear(limit time.Duration, words ...string) {
	s.t.Helper()
	for _, w := range words {
		err := stand.Until(s.t.Context(), limit, "hear "+w, func(context.Context) error {
			i := strings.Index(s.text()[s.at:], w)
			if i < 0 {
				return fmt.Errorf("%q was not said", w)
			}
			s.at += i + len(w)
			return nil
		})
		if err != nil {
			s.t.Fatalf("%v\n%s", err, tail(s.text(), 60))
		}
	}
}

// answer waits for a question and types a line.
func (s *spoken) answer(limit time.Duration, question, line string) {
	s.t.Helper()
	s.hear(limit, question)
	if line != "" {
		s.write(line)
	}
	s.press("Enter")
}

// entry chooses an entry of the menu.
func (s *spoken) entry(entry string) {
	s.t.Helper()
	from := s.at
	s.hear(time.Minute, "q quit:")
	m := regexp.MustCompile(`(?m)^ ?([0-9w])  ` + regexp.QuoteMeta(entry)).FindStringSubmatch(s.text()[from:])
	if m == nil {
		s.t.Fatalf("there is no %q\n%s", entry, tail(s.text(), 30))
	}
	s.write(m[1])
	s.press("Enter")
}

// TestUserInstallsLineByLine: on a terminal that cannot be drawn on, by answers to questions alone: a cluster is
// installed by the wizard, its run is left and returned to, a machine joins, status, the machine leaves, the cluster is
// cleaned up, a run is told of again. No byte steers the terminal.
func TestUserInstallsLineByLine(t *testing.T) {
	full(t)
	const cluster = "lines"
	s := newLab(t, 2)
	x := sit(t, s, "en")
	x.command("TERM=dumb eggo-tui")
	x.see(time.Minute, "q quit:")
	x.press("l", "Enter") // from here on all is recorded
	x.see(time.Minute, "安装新集群")
	ear := listen(x)
	x.press("l", "Enter")

	s.Say("== the wizard")
	ear.entry("Install a new cluster")
	ear.answer(time.Minute, "Cluster name [k8s-cluster]:", cluster)
	ear.answer(time.Minute, "deploy.yaml path [", "")
	ear.answer(time.Minute, "User [root]:", "")
	ear.answer(time.Minute, "Private key [", s.Lab.IdentityFile())
	ear.answer(time.Minute, "Password (", "")
	ear.answer(time.Minute, "Bastion [", "")
	ear.answer(time.Minute, "Enter continues:", "n1 "+address(t, s, "n1")+" master worker")
	ear.answer(time.Minute, "Enter continues:", "")
	ear.hear(time.Minute, "SHA256:")
	ear.answer(time.Minute, "none [n]:", "1")
	ear.hear(2*time.Minute, "n1 is ready")
	ear.answer(time.Minute, "Pod CIDR [10.244.0.0/16]:", ">")
	ear.answer(time.Minute, "Number [1]:", ">")
	ear.answer(5*time.Minute, "Bundle for amd64, as a number or path [", s.Bundle)
	ear.answer(time.Minute, "More bundles [", "")
	ear.answer(time.Minute, "Enter to continue:", "")
	ear.hear(10*time.Minute, "Preflight passed")
	ear.hear(time.Minute, "File to write: ")
	ear.answer(time.Minute, "Number [3]:", "3")
	ear.hear(time.Minute, "cluster-id: "+cluster)
	ear.answer(time.Minute, "Number [3]:", "5")
	ear.hear(5*time.Minute, "/etc/hosts")
	ear.answer(time.Minute, "Number [3]:", "1")
	ear.answer(time.Minute, "Install "+cluster+" now?", "y")

	s.Say("== the run is left, and returned to")
	ear.hear(5*time.Minute, "== Infrastructure")
	x.press("C-c")
	ear.answer(time.Minute, "Number (Enter is 4), or q:", "1")
	ear.hear(time.Minute, "To return to it: eggo-tui attach")
	ear.entry("Open the current run")
	ear.hear(time.Minute, "The run continues while you type")
	x.press("Enter")
	ear.hear(time.Minute, " steps")
	x.press("n", "Enter")
	ear.hear(time.Minute, "n1  "+address(t, s, "n1"))
	ear.hear(20*time.Minute, "deploy of cluster "+cluster+": changed after")
	ear.answer(time.Minute, "Enter continues:", "")

	s.Say("== status, a machine comes and goes, all is cleaned up")
	ear.entry("Cluster status")
	ear.hear(2*time.Minute, "n1")
	ear.entry("Add nodes")
	ear.answer(time.Minute, "Enter continues:", "n2 "+address(t, s, "n2")+" worker")
	ear.answer(time.Minute, "Enter continues:", "")
	ear.answer(time.Minute, "none [n]:", "y")
	ear.hear(2*time.Minute, "n2 is ready")
	ear.hear(10*time.Minute, "Preflight passed", "File to write: ")
	ear.answer(time.Minute, "Number [2]:", "1")
	ear.answer(time.Minute, "to "+cluster+" now?", "y")
	ear.hear(20*time.Minute, "join of cluster "+cluster+": changed after")
	ear.answer(time.Minute, "Enter continues:", "")
	try(t, s, 0, "status", "--id", cluster)
	ear.entry("Remove nodes")
	ear.answer(time.Minute, "Enter goes back:", "n2")
	ear.answer(time.Minute, "y or n [n]:", "")
	ear.answer(5*time.Minute, "Type the cluster's name", cluster)
	ear.hear(20*time.Minute, "delete of cluster "+cluster+": changed after")
	ear.answer(time.Minute, "Enter continues:", "")
	ear.entry("Clean up a cluster")
	ear.answer(time.Minute, "y or n [n]:", "")
	ear.answer(5*time.Minute, "Type the cluster's name", "another")
	ear.hear(time.Minute, "Nothing was done")
	ear.entry("Clean up a cluster")
	ear.answer(time.Minute, "y or n [n]:", "")
	ear.answer(5*time.Minute, "Type the cluster's name", cluster)
	ear.hear(20*time.Minute, "cleanup of cluster "+cluster+": changed after")
	ear.answer(time.Minute, "Enter continues:", "")
	ear.entry("Past runs")
	ear.answer(time.Minute, "q to go back:", "p4")
	ear.hear(time.Minute, "Enter shows the progress", "deploy of cluster "+cluster)
	x.write("q")
	x.press("Enter")
	ear.answer(time.Minute, "q to go back:", "q")
	ear.hear(time.Minute, "q quit:")

	for _, r := range strings.NewReplacer("^C", "").Replace(ear.text()) {
		if r != '\n' && (unicode.IsControl(r) || unicode.Is(unicode.Cf, r)) {
			t.Fatalf("%U was sent to the terminal\n%q", r, tail(ear.text(), 40))
		}
	}
	x.write("q")
	x.press("Enter")
	x.back(time.Minute)
}
