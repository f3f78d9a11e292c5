package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/spf13/cobra"

	"github.com/eggo-k8s/eggo/internal/bundle"
	"github.com/eggo-k8s/eggo/internal/bundle/addon"
	"github.com/eggo-k8s/eggo/internal/bundle/sign"
	"github.com/eggo-k8s/eggo/internal/output/cli"
	"github.com/eggo-k8s/eggo/internal/output/report"
	"github.com/eggo-k8s/eggo/internal/run/event"
)

type verifyFlags struct {
	signers, identity, deploy string
}

func newVerify(env *environment) *cobra.Command {
	p := env.P
	var f verifyFlags
	cmd := &cobra.Command{
		Use:   "verify " + p.T("cli.arg.file") + "...",
		Short: p.T("bundle.cli.verify.short"), Long: p.T("bundle.cli.verify.long"),
		Args: cli.Some(p.T("cli.arg.file")),
		Example: "  eggo-bundle verify eggo-amd64.tar.gz eggo-arm64.tar.gz\n" +
			"  eggo-bundle verify --signers allowed_signers --identity builder@example.com eggo-amd64.tar.gz\n" +
			"  eggo-bundle verify -f deploy.yaml eggo-amd64.tar.gz",
	}
	cmd.Flags().StringVar(&f.signers, "signers", "", p.T("bundle.cli.flag.signers"))
	cmd.Flags().StringVar(&f.identity, "identity", "", p.T("bundle.cli.flag.identity"))
	cmd.Flags().StringVarP(&f.deploy, "file", "f", "", p.T("bundle.cli.flag.deploy"))
	output := outputFlag(cmd, env)
	cmd.RunE = func(cmd *cobra.Command, files []string) error {
		if _, err := output(); err != nil {
			return err
		}
		return f.run(cmd.Context(), env, files)
	}
	return cmd
}

func (f *verifyFlags) run(ctx context.Context, env *environment, files []string) error {
	v := &verifier{env: env, identity: f.identity}
	if f.identity != "" && f.signers == "" {
		return event.NewFault(event.ClassUsage, "usage.identity", nil)
	}
	if f.signers != "" {
		var err error
		if v.allowed, err = readSigners(f.signers); err != nil {
			return err
		}
	}
	var check *offline
	if f.deploy != "" {
		var err error
		if check, err = newOffline(env, f.deploy); err != nil {
			return err
		}
	}
	// Every file is looked at, and all that is wrong is told at the end.
	var bad []error
	for _, file := range files {
		found, err := v.one(ctx, file)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err != nil {
			bad = append(bad, err)
		} else if check != nil {
			check.add(file, found)
		}
	}
	if check != nil {
		bad = append(bad, check.check(len(bad) == 0)...)
	}
	return errors.Join(bad...)
}

func readSigners(name string) (*sign.AllowedSigners, error) {
	r, err := os.Open(name)
	if err != nil {
		return nil, fileFault(name, err)
	}
	defer r.Close()
	return sign.ParseAllowedSigners(r, time.Local)
}

// verifier checks bundles, one after another.
type verifier struct {
	env      *environment
	allowed  *sign.AllowedSigners // nil: signatures are not asked for
	identity string
}

func (v *verifier) one(ctx context.Context, file string) (*bundle.Report, error) {
	var signed *sign.Signature
	var opts []bundle.Option
	if v.allowed != nil {
		armored, err := readSignature(file)
		if err != nil {
			return nil, err
		}
		opts = append(opts, bundle.WithSums(func(sums []byte) error {
			s, err := sign.Verify(ctx, armored, bytes.NewReader(sums), sign.Check{
				Namespace: sign.Namespace, Identity: v.identity, Allowed: v.allowed, Now: v.env.Now(),
			})
			if err == nil {
				signed = &s
			}
			return err
		}))
	}
	addons := &reviewed{env: v.env, by: map[string]*addon.Content{}}
	found, err := checked(ctx, v.env, file, append(opts, bundle.WithAddons(addons.see))...)
	if err != nil {
		return nil, err
	}
	if err := v.told(file, found, signed); err != nil {
		return nil, err
	}
	return found, addons.tell(file, found.Manifest)
}

func (v *verifier) told(file string, found *bundle.Report, signed *sign.Signature) error {
	m, p := found.Manifest, v.env.P
	if v.env.json {
		o := fields{
			"file": file, "id": found.ID, "name": m.Name, "arch": m.Arch, "kubernetes": m.Kubernetes,
			"members": found.Members, "bytes": found.Bytes,
		}
		if found.ImagesSum != "" {
			o["images_sha256"] = found.ImagesSum
		}
		if found.Base != nil {
			o["base"] = found.Base
		}
		if signed != nil {
			o["signature"] = fields{"identity": signed.Identity, "key_type": signed.KeyType,
				"fingerprint": signed.Fingerprint, "line": signed.Line}
		}
		if m.Adopted != nil {
			o["adopted"] = m.Adopted
		}
		return v.env.emit("verified", o)
	}
	err := v.env.say(p.T("bundle.cli.verified", "file", file, "name", m.Name, "arch", m.Arch, "kubernetes",
		m.Kubernetes,
		"members", fmt.Sprint(found.Members), "size", report.Amount(found.Bytes), "id", found.ID))
	if signed != nil && err == nil {
		err = v.env.say("  " + p.T("bundle.cli.signed-by", "identity", signed.Identity, "type", signed.KeyType, "key",
			signed.Fingerprint))
	}
	if found.Base != nil && err == nil {
		err = v.env.say("  " + p.T("bundle.cli.needs-base", "name", found.Base.Name, "arch", found.Base.Arch, "base",
			found.Base.ID))
	}
	if a := m.Adopted; a != nil && err == nil {
		err = v.env.say("  " + p.T("bundle.cli.adopted-short", "from", a.File, "count",
			fmt.Sprint(len(a.Unverified))))
	}
	return err
}

// checked reads a whole bundle and shows how far that is.
func checked(ctx context.Context, env *environment, file string, opts ...bundle.Option) (*bundle.Report, error) {
	var found *bundle.Report
	err := watched(env, file, func(progress func(done, total int64)) (err error) {
		found, err = bundle.Verify(ctx, file, progress, opts...)
		return err
	})
	return found, err
}

// watched runs something that reads one file through and shows how far it is.
func watched(env *environment, file string, work func(progress func(done, total int64)) error) error {
	at := report.Row{Label: event.Clean(file), Total: -1, Meter: &report.Meter{}, Main: true}
	var told time.Time
	began := env.Now()
	rows := func() []report.Row {
		now := env.Now()
		at.Meter.See(now, at.Done)
		if now.Sub(began) < report.RestfulFor {
			return nil
		}
		return []report.Row{at}
	}
	line := func() string {
		at.Meter.See(env.Now(), at.Done)
		return at.Sentence(env.P)
	}
	l := report.NewProgress(env.progress(), rows, line).Start()
	defer l.Close()
	return work(func(done, total int64) {
		l.Change(func() {
			at.Done, at.Total = done, total
			if now := env.Now(); env.json && now.Sub(told) >= report.EveryJSON && now.Sub(began) >= report.EveryJSON {
				told = now
				at.Meter.See(now, done)
				_ = env.emit("progress", fields{"file": file, "done": done, "total": total,
					"bytes_per_second": int64(at.Meter.Rate)})
			}
		})
	})
}

func readSignature(file string) ([]byte, error) {
	name := bundle.SignatureOf(file)
	f, err := os.Open(name)
	if errors.Is(err, os.ErrNotExist) {
		return nil, event.NewFault(event.ClassBundle, "verify.no-signature", nil, "file", file, "signature", name)
	}
	if err != nil {
		return nil, fileFault(name, err)
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, sign.MaxSignature+1))
	if err != nil {
		return nil, fileFault(name, err)
	}
	return data, nil
}
