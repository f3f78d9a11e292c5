package main

import (
	"context"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/eggo-k8s/eggo/internal/bundle"
	"github.com/eggo-k8s/eggo/internal/bundle/fetch"
	"github.com/eggo-k8s/eggo/internal/bundle/image"
	"github.com/eggo-k8s/eggo/internal/bundle/registry"
	"github.com/eggo-k8s/eggo/internal/output/cli"
	"github.com/eggo-k8s/eggo/internal/output/report"
	"github.com/eggo-k8s/eggo/internal/run/event"
	"github.com/eggo-k8s/eggo/internal/run/scratch"
)

type pushFlags struct {
	netFlags
	trustFlags
	to, temp string
	keepHost bool
}

func newPush(env *environment) *cobra.Command {
	p := env.P
	var f pushFlags
	cmd := &cobra.Command{
		Use:   "push " + p.T("cli.arg.file") + "... --to " + p.T("cli.arg.registry"),
		Short: p.T("bundle.cli.push.short"),
		Long:  p.T("bundle.cli.push.long"), Args: cli.Some(p.T("cli.arg.file")),
		Example: "  eggo-bundle push eggo-amd64.tar.gz eggo-arm64.tar.gz --to registry.example.com/k8s",
	}
	cmd.Flags().StringVar(&f.to, "to", "", p.T("bundle.cli.flag.to"))
	cmd.Flags().BoolVar(&f.keepHost, "keep-host", false, p.T("bundle.cli.flag.keep-host"))
	cmd.Flags().StringVar(&f.temp, "temp", "", p.T("bundle.cli.flag.temp"))
	f.netFlags.add(cmd, env)
	f.trustFlags.add(cmd, env)
	output := outputFlag(cmd, env)
	cmd.RunE = func(cmd *cobra.Command, files []string) error {
		if _, err := output(); err != nil {
			return err
		}
		if err := needed(cmd, "to"); err != nil {
			return err
		}
		return f.run(cmd.Context(), env, files)
	}
	return cmd
}

func (f *pushFlags) run(ctx context.Context, env *environment, files []string) error {
	transport, err := fetch.NewTransport(fetch.TransportOptions{CAFiles: f.ca, Insecure: f.insecure,
		Getenv: env.Getenv})
	if err != nil {
		return err
	}
	v, err := f.vouching(env)
	if err == nil {
		err = v.all(ctx, files)
	}
	if err != nil {
		return err
	}
	// The images are pushed from a verified copy: a registry would keep what a damaged bundle gave it.
	temp := f.temp
	if temp == "" {
		if temp = env.Getenv("TMPDIR"); temp == "" {
			temp = "/var/tmp" // /tmp is memory on many machines
		}
	}
	dir, remove, err := scratch.Dir(temp, "eggo-bundle-push-", env.Now())
	if err != nil {
		return writeFault(temp, err)
	}
	defer func() { _ = remove() }() // else the next one does it
	var archives []*image.Archive
	for _, file := range files {
		a, done, err := stagedImages(ctx, v, file, dir)
		if err != nil {
			return err
		}
		defer done()
		archives = append(archives, a)
	}
	t := &pushing{env: env, blobs: map[string]*registry.PushProgress{}, said: map[string]bool{}, meter: &report.Meter{}}
	t.live = report.NewProgress(env.progress(), t.rows, t.line)
	client := registry.New(registry.Options{Transport: transport, Insecure: f.insecure, Retry: t.retry})
	t.live.Start()
	res, err := client.Push(ctx, archives, f.to, registry.PushOptions{KeepHost: f.keepHost, Progress: t.progress})
	t.live.Close()
	if err != nil {
		if interrupted(ctx, err) {
			err = ctx.Err()
		}
		return err
	}
	return printPushed(env, res)
}

// stagedImages unpacks a bundle, checking it, and opens its images.
func stagedImages(ctx context.Context, v *vouching, file, dir string) (*image.Archive, func(), error) {
	var staged *bundle.Staged
	vouch := func(m *bundle.Manifest, sums []byte) error { return v.check(ctx, file, m, sums) }
	err := watched(v.env, file, func(progress func(done, total int64)) (err error) {
		staged, err = bundle.Stage(ctx, file, dir, progress, bundle.WithVoucher(vouch),
			bundle.WithBases(bundle.Beside(file)...))
		return err
	})
	if err != nil {
		return nil, nil, err
	}
	m := staged.Manifest()
	member, ok := m.Member(m.ImagesPath())
	if !ok {
		return nil, nil, event.NewFault(event.ClassUsage, "push.no-images", nil, "file", file)
	}
	r, err := staged.Open(member.Path)
	if err != nil {
		return nil, nil, err
	}
	at, ok := r.(io.ReaderAt)
	if !ok {
		r.Close()
		return nil, nil, event.NewFault(event.ClassFailed, "internal", nil)
	}
	a, err := image.NewArchive(ctx, at, member.Size)
	if err != nil {
		r.Close()
		return nil, nil, err
	}
	return a, func() { r.Close() }, nil
}

// pushing shows how far a push is.
type pushing struct {
	env   *environment
	live  *report.Progress
	blobs map[string]*registry.PushProgress // by target and digest
	order []string
	meter *report.Meter
	said  map[string]bool // reasons that were told, by code and registry
	told  time.Time
}

func (t *pushing) progress(p registry.PushProgress) {
	t.live.Change(func() {
		key := p.Target + "@" + p.Digest
		if t.blobs[key] == nil {
			t.order = append(t.order, key)
		}
		t.blobs[key] = &p
		now := t.env.Now()
		if t.env.json && (p.Uploaded || now.Sub(t.told) >= report.EveryJSON) {
			t.told = now
			_ = t.env.emit("pushing", fields{"target": p.Target, "digest": p.Digest, "done": p.Done, "total": p.Total,
				"uploaded": p.Uploaded})
		}
	})
}

// retry says once for each reason that something is tried again: a registry that is down is one event, not one for each
// blob.
func (t *pushing) retry(f *event.Fault) {
	t.live.Change(func() {
		reason := f.Code + " " + f.Args["registry"]
		if t.said[reason] {
			return
		}
		t.said[reason] = true
		text, _ := t.env.P.Fault(f)
		if t.env.json {
			_ = t.env.emit("retry", fields{"fault": f, "message": text})
			return
		}
		t.live.Print(t.env.Stderr, t.env.P.T("bundle.cli.retry", "why", text))
	})
}

func (t *pushing) all() report.Row {
	r := report.Row{Label: t.env.P.T("bundle.cli.total"), Meter: t.meter, Main: true}
	for _, p := range t.blobs {
		if p.Present || p.Mounted {
			continue
		}
		r.Done += p.Done
		r.Total += p.Total
	}
	t.meter.See(t.env.Now(), r.Done)
	return r
}

func (t *pushing) rows() []report.Row {
	out := []report.Row{t.all()}
	for _, key := range t.order {
		if p := t.blobs[key]; !p.Uploaded && !p.Present && !p.Mounted && len(out) <= report.MostRows {
			out = append(out, report.Row{Label: p.Target, Done: p.Done, Total: p.Total})
		}
	}
	return out
}

func (t *pushing) line() string {
	all := t.all()
	if all.Total == 0 {
		return "" // nothing to send is known yet
	}
	return all.Sentence(t.env.P)
}

func printPushed(env *environment, res *registry.PushResult) error {
	p := env.P
	if env.json {
		for _, x := range res.Images {
			o := fields{"name": x.Name, "target": x.Target, "digest": x.Digest, "platforms": x.Platforms}
			if len(x.Lost) > 0 {
				o["lost"] = x.Lost
			}
			if err := env.emit("pushed", o); err != nil {
				return err
			}
		}
		return env.emit("done", fields{
			"images": len(res.Images), "uploaded": res.Uploaded, "present": res.Present, "mounted": res.Mounted,
			"bytes": res.Bytes,
		})
	}
	rows := [][]string{{p.T("bundle.cli.col.name"), p.T("bundle.cli.col.target"), p.T("bundle.cli.col.platforms")}}
	var lost []string
	for _, x := range res.Images {
		rows = append(rows, []string{x.Name, x.Target, strings.Join(x.Platforms, ", ")})
		lost = append(lost, x.Lost...)
	}
	env.table(env.Stdout, p.T("bundle.cli.pushed", "images", fmt.Sprint(len(res.Images))), rows)
	env.tell(p.T("bundle.cli.pushed-blobs",
		"uploaded", fmt.Sprint(res.Uploaded), "size", report.Amount(res.Bytes), "present",
		fmt.Sprint(res.Present+res.Mounted)))
	if len(lost) > 0 {
		for i := range lost {
			lost[i] = event.Clean(lost[i])
		}
		env.tell(p.T("bundle.cli.pushed-lost") + "\n  " + strings.Join(lost, "\n  "))
	}
	return nil
}
