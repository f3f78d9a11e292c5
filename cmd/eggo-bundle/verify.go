package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"regexp"
	"time"

	"github.com/spf13/cobra"

	"github.com/eggo-k8s/eggo/internal/bundle"
	"github.com/eggo-k8s/eggo/internal/bundle/sign"
	"github.com/eggo-k8s/eggo/internal/event"
)

type verifyFlags struct {
	signers, identity, deploy string
}

func newVerify(env *environment) *cobra.Command {
	p := env.P
	var f verifyFlags
	cmd := &cobra.Command{
		Use: "verify FILE...", Short: p.T("bundle.cli.verify.short"), Long: p.T("bundle.cli.verify.long"), Args: some("FILE"),
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
		report, err := v.one(ctx, file)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err != nil {
			bad = append(bad, err)
		} else if check != nil {
			check.add(file, report)
		}
	}
	if check != nil {
		bad = append(bad, check.judge(len(bad) == 0)...)
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
	report, err := checked(ctx, v.env, file, opts...)
	if err != nil {
		return nil, err
	}
	return report, v.told(file, report, signed)
}

func (v *verifier) told(file string, report *bundle.Report, signed *sign.Signature) error {
	m, p := report.Manifest, v.env.P
	if v.env.json {
		o := fields{
			"file": file, "id": report.ID, "name": m.Name, "arch": m.Arch, "kubernetes": m.Kubernetes, "members": report.Members, "bytes": report.Bytes,
		}
		if report.ImagesSum != "" {
			o["images_sha256"] = report.ImagesSum
		}
		if report.Base != nil {
			o["base"] = report.Base
		}
		if signed != nil {
			o["signature"] = fields{"identity": signed.Identity, "key_type": signed.KeyType, "fingerprint": signed.Fingerprint, "line": signed.Line}
		}
		return v.env.emit("verified", o)
	}
	err := v.env.say(p.T("bundle.cli.verified", "file", file, "name", m.Name, "arch", m.Arch, "kubernetes", m.Kubernetes,
		"members", fmt.Sprint(report.Members), "size", size(report.Bytes), "id", report.ID))
	if signed != nil && err == nil {
		err = v.env.say("  " + p.T("bundle.cli.signed-by", "identity", signed.Identity, "type", signed.KeyType, "key", signed.Fingerprint))
	}
	if report.Base != nil && err == nil {
		err = v.env.say("  " + p.T("bundle.cli.needs-base", "name", report.Base.Name, "arch", report.Base.Arch, "base", report.Base.ID))
	}
	return err
}

// checked reads a whole bundle and shows how far that is.
func checked(ctx context.Context, env *environment, file string, opts ...bundle.Option) (*bundle.Report, error) {
	var report *bundle.Report
	err := watched(env, file, func(progress func(done, total int64)) (err error) {
		report, err = bundle.Verify(ctx, file, progress, opts...)
		return err
	})
	return report, err
}

// watched runs something that reads one file through and shows how far it is.
func watched(env *environment, file string, work func(progress func(done, total int64)) error) error {
	at := row{label: event.Clean(file), total: -1, meter: &meter{}, main: true}
	var told time.Time
	began := env.Now()
	rows := func() []row {
		now := env.Now()
		at.meter.see(now, at.done)
		if now.Sub(began) < restfulFor {
			return nil
		}
		return []row{at}
	}
	line := func() string {
		at.meter.see(env.Now(), at.done)
		return sentence(env, at)
	}
	l := newLive(env, rows, line).start()
	defer l.close()
	return work(func(done, total int64) {
		l.change(func() {
			at.done, at.total = done, total
			if now := env.Now(); env.json && now.Sub(told) >= everyJSON && now.Sub(began) >= everyJSON {
				told = now
				at.meter.see(now, done)
				_ = env.emit("progress", fields{"file": file, "done": done, "total": total, "bytes_per_second": int64(at.meter.rate)})
			}
		})
	})
}

var partSuffix = regexp.MustCompile(`\.[0-9]{3,}$`)

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
