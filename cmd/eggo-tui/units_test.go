package main

import (
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/eggo-k8s/eggo/internal/output/i18n"
)

// The commands of the units that we ship are commands of this program.
func TestTheUnitsCallWhatThereIs(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("units/*.service")
	if err != nil || len(files) != 2 {
		t.Fatal(files, err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(string(text), "\nUser=root\n") { // else there is no HOME, and no default key
			t.Error(file, "sets no user")
		}
		if strings.Contains(string(text), "PrivateTmp=") { // a deploy.yaml may name a bundle in /tmp
			t.Error(file, "hides /tmp")
		}
		_, rest, _ := strings.Cut(string(text), "ExecStart=/usr/bin/eggo-tui ")
		line, _, _ := strings.Cut(rest, "\n")
		args := strings.Fields(strings.NewReplacer("%i", "one", "$EGGO_BACKUP_OPTIONS",
			"--recipient age1x --dir /b --keep 3").Replace(line))
		env := &environment{Stdin: strings.NewReader(""), Stdout: io.Discard, Stderr: io.Discard,
			Args: []string{"eggo-tui"}, P: i18n.NewPrinter(i18n.English), Getenv: func(string) string { return "" }}
		cmd, flags, err := newRootCmd(env).Find(args)
		if err != nil {
			t.Fatal(file, err)
		}
		if err := cmd.ParseFlags(flags); err != nil || !cmd.Runnable() || cmd.Flags().NArg() > 0 {
			t.Errorf("%s: %s: %v", file, line, err)
		}
		if _, err := os.Stat(strings.TrimSuffix(file, "service") + "timer"); err != nil {
			t.Error(err)
		}
	}
}
