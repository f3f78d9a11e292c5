package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/user"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/eggo-k8s/eggo/internal/bundle"
	"github.com/eggo-k8s/eggo/internal/bundle/sign"
	"github.com/eggo-k8s/eggo/internal/output/cli"
	"github.com/eggo-k8s/eggo/internal/run/event"
)

func newKeygen(env *environment) *cobra.Command {
	p := env.P
	cmd := &cobra.Command{Use: "keygen -o " + p.T("cli.arg.key"), Short: p.T("bundle.cli.keygen.short"),
		Long: p.T("bundle.cli.keygen.long"), Args: cli.Exactly()}
	out := cmd.Flags().StringP("out", "o", "", p.T("bundle.cli.flag.key-out"))
	comment := cmd.Flags().String("comment", "", p.T("bundle.cli.flag.comment"))
	identity := cmd.Flags().String("identity", "", p.T("bundle.cli.flag.key-identity"))
	plain := cmd.Flags().Bool("no-passphrase", false, p.T("bundle.cli.flag.no-passphrase"))
	output := outputFlag(cmd, env)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		asJSON, err := output()
		if err != nil {
			return err
		}
		if err := needed(cmd, "out"); err != nil {
			return err
		}
		who := *comment
		if who == "" {
			who = userAtHost()
		}
		name := *identity
		if name == "" {
			name = who
		}
		var passphrase []byte
		if !*plain {
			if passphrase, err = newPassphrase(cmd.Context(), env); err != nil {
				return err
			}
		}
		pair, err := sign.Generate(who, passphrase)
		if err != nil {
			return err
		}
		line, err := pair.AllowedLine(name)
		if err != nil {
			return err
		}
		if err := pair.Save(*out); err != nil {
			return err
		}
		if asJSON {
			return env.emit("key", fields{"file": *out, "public": *out + ".pub", "fingerprint": pair.Fingerprint(),
				"identity": name, "allowed_signers": line})
		}
		env.tell(p.T("bundle.cli.key", "file", *out, "public", *out+".pub", "key", pair.Fingerprint()))
		env.tell(p.T("bundle.cli.key-line"))
		return env.say(line)
	}
	return cmd
}

// userAtHost is what ssh-keygen writes as a comment.
func userAtHost() string {
	name, host := "eggo", "localhost"
	if u, err := user.Current(); err == nil && u.Username != "" {
		name = u.Username
	}
	if h, err := os.Hostname(); err == nil && h != "" {
		host = h
	}
	return name + "@" + host
}

// newPassphrase asks twice. Where nobody can answer, a key without a passphrase has to be asked for by name.
func newPassphrase(ctx context.Context, env *environment) ([]byte, error) {
	if _, ok := terminal(env); !ok {
		return nil, event.NewFault(event.ClassUsage, "keygen.no-terminal", nil)
	}
	first, err := askSecret(ctx, env, env.P.T("bundle.cli.ask.new"))
	if err != nil {
		return nil, err
	}
	if len(first) == 0 {
		return nil, event.NewFault(event.ClassUsage, "keygen.empty", nil)
	}
	second, err := askSecret(ctx, env, env.P.T("bundle.cli.ask.again"))
	if err != nil {
		return nil, err
	}
	if !bytes.Equal(first, second) {
		return nil, event.NewFault(event.ClassUsage, "keygen.different", nil)
	}
	return first, nil
}

// terminal is the file that a person answers at, if there is one.
func terminal(env *environment) (*os.File, bool) {
	f, ok := env.Stdin.(*os.File)
	return f, ok && term.IsTerminal(int(f.Fd()))
}

// askSecret asks without showing the answer, and gives the terminal back as it was, also when the wait is interrupted.
func askSecret(ctx context.Context, env *environment, prompt string) ([]byte, error) {
	f, ok := terminal(env)
	if !ok {
		return nil, event.NewFault(event.ClassUsage, "keygen.no-terminal", nil)
	}
	fd := int(f.Fd())
	before, err := term.GetState(fd)
	if err != nil {
		return nil, err
	}
	fmt.Fprint(env.Stderr, prompt+" ")
	defer fmt.Fprintln(env.Stderr)
	type answer struct {
		data []byte
		err  error
	}
	done := make(chan answer, 1) // after an interruption the read ends with the program
	go func() {
		data, err := term.ReadPassword(fd)
		done <- answer{data, err}
	}()
	select {
	case a := <-done:
		return a.data, a.err
	case <-ctx.Done():
		_ = term.Restore(fd, before)
		return nil, ctx.Err()
	}
}

func newSign(env *environment) *cobra.Command {
	p := env.P
	cmd := &cobra.Command{Use: "sign " + p.T("cli.arg.file") + "... --key " + p.T("cli.arg.key"),
		Short: p.T("bundle.cli.sign.short"),
		Long:  p.T("bundle.cli.sign.long"), Args: cli.Some(p.T("cli.arg.file"))}
	key := cmd.Flags().String("key", "", p.T("bundle.cli.flag.key"))
	output := outputFlag(cmd, env)
	cmd.RunE = func(cmd *cobra.Command, files []string) error {
		if _, err := output(); err != nil {
			return err
		}
		if err := needed(cmd, "key"); err != nil {
			return err
		}
		ctx := cmd.Context()
		var ask sign.Ask
		if _, ok := terminal(env); ok {
			ask = func(ctx context.Context, file string, again bool) ([]byte, error) {
				question := "bundle.cli.ask.key"
				if again {
					question = "bundle.cli.ask.wrong"
				}
				return askSecret(ctx, env, p.T(question, "file", file))
			}
		}
		signer, err := sign.Load(ctx, *key, env.Getenv("SSH_AUTH_SOCK"), ask)
		if err != nil {
			return err
		}
		defer signer.Close()
		var bad []error
		for _, file := range files {
			if err := signOne(ctx, env, signer, file); err != nil {
				bad = append(bad, err)
			}
			if ctx.Err() != nil {
				return ctx.Err()
			}
		}
		return errors.Join(bad...)
	}
	return cmd
}

// signOne signs what a whole reading of the bundle has shown to be its SHA256SUMS, so that nothing damaged is ever
// signed.
func signOne(ctx context.Context, env *environment, signer *sign.Signer, file string) error {
	var sums []byte
	report, err := checked(ctx, env, file, bundle.WithSums(func(text []byte) error {
		sums = bytes.Clone(text)
		return nil
	}))
	if err != nil {
		return err
	}
	armored, err := sign.Sign(ctx, signer, sign.Namespace, bytes.NewReader(sums))
	if err != nil {
		return err
	}
	name := bundle.SignatureOf(file)
	if err := writeFile(name, armored, 0o644); err != nil {
		return err
	}
	if env.json {
		return env.emit("signed", fields{"file": file, "signature": name, "id": report.ID, "name": report.Manifest.Name,
			"arch":        report.Manifest.Arch,
			"fingerprint": signer.Fingerprint()})
	}
	return env.say(env.P.T("bundle.cli.signed", "file", name, "name", report.Manifest.Name, "arch",
		report.Manifest.Arch, "key", signer.Fingerprint()))
}
