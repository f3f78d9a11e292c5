package main

import (
	"archive/tar"
	"bytes"
	"cmp"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/eggo-k8s/eggo/internal/event"
)

func newSupportCmd(env *environment) *cobra.Command {
	var o logOptions
	var file string
	cmd := &cobra.Command{Use: "support [" + env.P.T("cli.arg.run") + "]", Short: env.P.T("cli.support.short"), Long: env.P.T("cli.support.long"), Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return support(cmd.Context(), env, o, strings.Join(args, ""), file)
		}}
	o.which(cmd, env)
	cmd.Flags().StringVarP(&file, "out", "o", "", env.P.T("cli.support.out"))
	return cmd
}

// supportDir is the directory in the archive.
const supportDir = "eggo-support/"

// support packs what was logged of a run, without the secrets, for somebody who is to find a fault.
func support(ctx context.Context, env *environment, o logOptions, run, file string) error {
	file, names, err := supportFile(env, o, run, file, func(c known) map[string]string {
		list, err := unitStates(ctx, env, o, c)
		out := map[string]string{}
		if err != nil {
			out["units.txt"] = why(env, err) + "\n"
			fmt.Fprintln(env.Stderr, env.P.T("support.no-units", "node", c.Name, "cause", why(env, err)))
		}
		for _, u := range list {
			if out["nodes/"+u.node+".units.txt"] = u.text; u.err != nil {
				out["nodes/"+u.node+".units.txt"] = why(env, u.err) + "\n"
				fmt.Fprintln(env.Stderr, env.P.T("support.no-units", "node", u.node, "cause", why(env, u.err)))
			}
		}
		return out
	})
	if err != nil {
		return err
	}
	for _, n := range names {
		fmt.Fprintln(env.Stdout, "  "+n)
	}
	fmt.Fprintln(env.Stdout, env.P.T("support.written", "file", file))
	return nil
}

// supportFile writes the bundle and gives its name, and the names of what is in it. more, if given, has texts beside what was logged, by name.
func supportFile(env *environment, o logOptions, run, file string, more func(known) map[string]string) (string, []string, error) {
	c, dir, err := loggedRun(env, o, run, "")
	if err != nil {
		return "", nil, err
	}
	file = cmp.Or(file, "eggo-support-"+c.Name+"-"+c.LastRun+".tar.gz")
	if exists(file) {
		return "", nil, event.NewFault(event.ClassUsage, "support.exists", nil, "file", file)
	}
	home := filepath.Join(stateRoot(env, o.state), c.Name)
	hide, err := newRedactor(home)
	if err != nil {
		return "", nil, event.NewFault(event.ClassFailed, "state.read", err)
	}
	var out bytes.Buffer
	var beside map[string]string
	if more != nil {
		beside = more(c)
	}
	names, err := writeSupport(&out, env, c, dir, hide, beside)
	if err == nil {
		err = saveNew(file, out.Bytes(), false)
	}
	return file, names, err
}

// writeSupport writes the archive and gives the names of what is in it.
func writeSupport(out *bytes.Buffer, env *environment, c known, dir string, hide *redactor, more map[string]string) ([]string, error) {
	var names []string
	z := gzip.NewWriter(out)
	t := tar.NewWriter(z)
	add := func(name string, data []byte) error {
		names = append(names, supportDir+name)
		if err := t.WriteHeader(&tar.Header{Name: supportDir + name, Mode: 0o600, Size: int64(len(data)), ModTime: time.Now(), Typeflag: tar.TypeReg}); err != nil {
			return err
		}
		_, err := t.Write(data)
		return err
	}
	about := fmt.Sprintf("%s\n\ncluster %s\nrun %s\neggo-tui %s (%s/%s)\n", env.P.T("support.readme"), c.Name, c.LastRun, buildVersion(), runtime.GOOS, runtime.GOARCH)
	if err := add("README.txt", []byte(about)); err != nil {
		return nil, err
	}
	err := filepath.WalkDir(dir, func(p string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		rel, err := filepath.Rel(dir, p)
		if err != nil {
			return err
		}
		data, err := os.ReadFile(p)
		if err != nil {
			return err
		}
		if rel == savedName { // that of the run; the cluster's own follows
			rel, data = "run-"+savedName, hide.keys(data)
		}
		return add(filepath.ToSlash(rel), hide.text(data))
	})
	if err == nil && c.File != "" {
		var data []byte
		if data, err = os.ReadFile(c.File); err == nil {
			err = add(savedName, hide.text(hide.keys(data)))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(more)) {
		if err == nil {
			err = add(name, hide.text([]byte(more[name])))
		}
	}
	if err = errors.Join(err, t.Close(), z.Close()); err != nil {
		return nil, event.NewFault(event.ClassFailed, "state.read", err)
	}
	return names, nil
}

// redactor takes secrets out of texts: the values that the cluster's files hold, wherever they occur, and what looks like a secret.
type redactor struct {
	values *strings.Replacer
	looks  []*regexp.Regexp
	key    *regexp.Regexp
}

const redacted = "(redacted)"

// newRedactor learns the secrets of the cluster in dir: what stands behind a secret's key in its deploy.yaml files, its tokens, and every
// line of its private keys.
func newRedactor(dir string) (*redactor, error) {
	r := &redactor{
		key: regexp.MustCompile(`(?im)^(\s*(?:-\s+)?["']?[\w-]*(?:password|passwd|passphrase|token|secret|private-key-data)[\w-]*["']?\s*:\s*)(\S.*)$|((?:password|token|secret)["']?\s*:\s*)([^,}\s]+)`),
		looks: []*regexp.Regexp{
			// A block may stand in one line with its newlines escaped, or over several lines of a log, each with its own beginning.
			regexp.MustCompile(`(?s)-----BEGIN [A-Z ]*PRIVATE KEY-----.*?-----END [A-Z ]*PRIVATE KEY-----`),
			regexp.MustCompile(`\b[a-z0-9]{6}\.[a-z0-9]{16}\b`),           // bootstrap token
			regexp.MustCompile(`\beyJ[\w-]{10,}\.[\w-]{10,}\.[\w-]{10,}`), // service account token
			regexp.MustCompile(`(?i)(?:client-key-data|token|password)["\\]*\s*[:=]\s*["\\]*[^\s"\\,}]{6,}`),
			regexp.MustCompile(`(?i)authorization:\s*(?:bearer|basic)\s+\S+`),
		},
	}
	var secrets []string
	err := filepath.WalkDir(dir, func(p string, d fs.DirEntry, err error) error {
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return nil
		case err != nil:
			return err
		case d.IsDir() && (d.Name() == "runs" || d.Name() == "snapshots"):
			return fs.SkipDir
		case !d.Type().IsRegular():
			return nil
		}
		data, err := os.ReadFile(p)
		if err != nil {
			return err
		}
		switch {
		case strings.Contains(d.Name(), "deploy.yaml"):
			for _, m := range r.key.FindAllStringSubmatch(string(data), -1) {
				secrets = append(secrets, strings.Trim(cmp.Or(m[2], m[4]), ` "'`))
			}
		case strings.HasSuffix(d.Name(), ".crt"), strings.HasSuffix(d.Name(), ".pub"), strings.Contains(d.Name(), "known_hosts"), strings.HasPrefix(d.Name(), "lock"):
		default: // keys, tokens, encryption configuration, kubeconfigs
			secrets = append(secrets, regexp.MustCompile(`[A-Za-z0-9+/=_.-]{16,}`).FindAllString(string(data), -1)...)
		}
		return nil
	})
	if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	slices.SortFunc(secrets, func(a, b string) int { return len(b) - len(a) }) // the longest first: one may be part of another
	var pairs []string
	for _, s := range slices.Compact(secrets) {
		if len(s) >= 4 && s != "root" {
			pairs = append(pairs, s, redacted)
		}
	}
	r.values = strings.NewReplacer(pairs...)
	return r, err
}

// text takes the secrets out of a text.
func (r *redactor) text(data []byte) []byte {
	s := r.values.Replace(string(data))
	for i, look := range r.looks {
		if i == 0 {
			s = look.ReplaceAllStringFunc(s, inLines)
			continue
		}
		s = look.ReplaceAllString(s, redacted)
	}
	return []byte(s)
}

// inLines redacts a block that may go over several lines of a log: the lines stay, without what is in them, and so does the form of JSON.
func inLines(block string) string {
	lines := strings.Split(block, "\n")
	for i, l := range lines {
		switch {
		case len(lines) == 1:
			lines[i] = redacted
		case i == 0 || i == len(lines)-1:
		default:
			lines[i] = regexp.MustCompile(`[A-Za-z0-9+/=]{20,}`).ReplaceAllString(l, redacted)
		}
	}
	return strings.Join(lines, "\n")
}

// keys takes out what stands behind a secret's key in YAML.
func (r *redactor) keys(data []byte) []byte {
	return r.key.ReplaceAllFunc(data, func(b []byte) []byte {
		m := r.key.FindSubmatch(b)
		return append(append(bytes.Clone(m[1]), m[3]...), redacted...)
	})
}
