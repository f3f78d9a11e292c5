package main

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/eggo-k8s/eggo/internal/bundle"
	"github.com/eggo-k8s/eggo/internal/bundle/sign"
	"github.com/eggo-k8s/eggo/internal/bundle/trust"
	"github.com/eggo-k8s/eggo/internal/run/event"
	"github.com/eggo-k8s/eggo/internal/run/journal"
)

// trustFlags say whose bundles may be given away: the rules are those of deploy, and so is the list of the control
// host.
type trustFlags struct {
	signers       string
	allowUnsigned bool
}

func (f *trustFlags) add(cmd *cobra.Command, env *environment) {
	cmd.Flags().StringVar(&f.signers, "signers", "", env.P.T("cli.flag.signers"))
	cmd.Flags().BoolVar(&f.allowUnsigned, "allow-unsigned", false, env.P.T("bundle.cli.flag.allow-unsigned"))
}

// vouching decides about bundles by their heads, before anything of them is unpacked, and tells of it.
type vouching struct {
	*trust.Checks
	env   *environment
	store *trust.Store
}

func (f *trustFlags) vouching(env *environment) (*vouching, error) {
	root := env.State
	if root == "" {
		root = journal.StateDir(env.Getenv, os.Geteuid())
	}
	v := &vouching{env: env, store: trust.In(root)}
	var err error
	v.Checks, err = trust.NewChecks(root, f.signers, f.allowUnsigned, v.ask)
	return v, err
}

// all decides about all files. A yes to the key of a later one is a no to those before that nobody signed.
func (v *vouching) all(ctx context.Context, files []string) error {
	for knew := v.Learned(); ; knew = v.Learned() {
		for _, file := range files {
			a, err := bundle.Open(file)
			if err != nil {
				return err
			}
			if err := v.check(ctx, file, a.Manifest(), a.Sums()); err != nil {
				return err
			}
		}
		if v.Learned() == knew {
			return nil
		}
	}
}

// check decides about a bundle, and says once who signed it and what that is worth.
func (v *vouching) check(ctx context.Context, file string, m *bundle.Manifest, sums []byte) error {
	found, fresh, err := v.Check(ctx, file, m, sums)
	if err != nil || !fresh {
		return err
	}
	msg := found.Msg()
	text := v.env.P.Msg(msg)
	if v.env.json {
		o := fields{"file": file, "signature": found.State, "message": text}
		for field, value := range map[string]string{
			"identity": found.Identity, "key_type": found.KeyType, "fingerprint": found.Fingerprint,
			"code": msg.Args["code"],
		} {
			if value != "" {
				o[field] = value
			}
		}
		return v.env.emit("vouched", o)
	}
	v.env.tell(text)
	if f := found.Warning(); f != nil {
		text, next := v.env.P.Fault(f)
		v.env.tell(v.env.P.T("cli.warning") + ": " + text + " [" + f.Code + "]\n  → " + next)
	}
	return nil
}

// ask asks about a key that nobody has said anything about, and remembers one that is trusted.
func (v *vouching) ask(ctx context.Context, q trust.Question) (yes, asked bool, err error) {
	if _, ok := terminal(v.env); !ok {
		return false, false, nil
	}
	fmt.Fprint(v.env.Stderr, v.env.P.T("ask.signer.line", "bundle", event.Clean(filepath.Base(q.File)), "name",
		q.Manifest.Name,
		"arch", q.Manifest.Arch, "type", q.Signer.KeyType, "fingerprint", q.Signer.Fingerprint)+" ")
	answer, err := v.answer(ctx)
	if err != nil || answer != "y" && answer != "yes" {
		return false, true, err
	}
	return true, true, v.remember(q.Signer, q.Manifest.Name)
}

func (v *vouching) remember(key sign.Unlisted, name string) error {
	line, err := key.AllowedLine(trust.Unnamed(key))
	if err == nil {
		_, err = v.store.Add([]string{fmt.Sprintf("# trusted on %s for %s", v.env.Now().Format(time.DateOnly), name),
			line})
	}
	return err
}

// answer reads a line; after an interruption the read ends with the program.
func (v *vouching) answer(ctx context.Context) (string, error) {
	type read struct {
		line string
		err  error
	}
	done := make(chan read, 1)
	go func() {
		line, err := bufio.NewReader(v.env.Stdin).ReadString('\n')
		done <- read{strings.ToLower(strings.TrimSpace(line)), err}
	}()
	select {
	case r := <-done:
		return r.line, r.err
	case <-ctx.Done():
		return "", ctx.Err()
	}
}
