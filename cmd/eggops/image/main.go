// Command image makes and pushes the image of eggops without a container engine: make -C cmd/eggops docker-build
// docker-push calls it.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"strings"

	"github.com/google/renameio/v2"

	"github.com/eggo-k8s/eggo/internal/bundle/image"
	"github.com/eggo-k8s/eggo/internal/bundle/image/program"
	"github.com/eggo-k8s/eggo/internal/bundle/registry"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "image:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string) error {
	if len(args) == 0 {
		return errors.New("usage: image build|push [flags] [FILE...]")
	}
	set := flag.NewFlagSet(args[0], flag.ContinueOnError)
	name := set.String("name", "", "`name` of the image, with its tag")
	switch args[0] {
	case "build":
		p := program.Program{Path: "/eggops"}
		set.StringVar(&p.Arch, "arch", "amd64", "architecture of the program")
		binary := set.String("binary", "", "statically linked program")
		roots := set.String("ca", "", "PEM file with the CA certificates that the program trusts")
		version := set.String("version", "", "version of the program, a label of the image")
		output := set.String("o", "", "archive to write")
		if err := set.Parse(args[1:]); err != nil {
			return err
		}
		p.Name, p.Labels = *name, map[string]string{"org.opencontainers.image.version": *version}
		return build(ctx, p, *binary, *roots, *output)
	case "push":
		insecure := set.String("insecure", "", "`host` with plain HTTP, or whose certificate is not checked")
		if err := set.Parse(args[1:]); err != nil {
			return err
		}
		return push(ctx, *name, *insecure, set.Args())
	}
	return fmt.Errorf("unknown command %q", args[0])
}

func build(ctx context.Context, p program.Program, binary, roots, output string) error {
	var err error
	if p.Binary, err = os.ReadFile(binary); err != nil {
		return err
	}
	if roots != "" {
		if p.Roots, err = os.ReadFile(roots); err != nil {
			return err
		}
	}
	im, err := program.Make(p)
	if err != nil {
		return err
	}
	f, err := renameio.NewPendingFile(output, renameio.WithPermissions(0o644))
	if err != nil {
		return err
	}
	defer func() { _ = f.Cleanup() }()
	if err := program.Write(ctx, f, im); err != nil {
		return err
	}
	if err := f.CloseAtomicallyReplace(); err != nil {
		return err
	}
	fmt.Printf("%s: %s for %s, %s, %.1f MiB\n", output, p.Name, p.Arch, im.Manifest.Digest, float64(im.Size())/(1<<20))
	return nil
}

// push sends archives to the registry in the name of the image. Those of several architectures become one index.
func push(ctx context.Context, name, insecure string, files []string) error {
	full, err := image.Normalize(name)
	if err != nil {
		return err
	}
	host, _, _ := strings.Cut(full, "/")
	var archives []*image.Archive
	for _, file := range files {
		f, err := os.Open(file)
		if err != nil {
			return err
		}
		defer f.Close()
		st, err := f.Stat()
		if err != nil {
			return err
		}
		a, err := image.NewArchive(ctx, f, st.Size())
		if err != nil {
			return fmt.Errorf("%s: %w", file, err)
		}
		for _, im := range a.Images() {
			if len(im.Names) != 1 || im.Names[0] != full {
				return fmt.Errorf("%s has the image %s, not %s", file, strings.Join(im.Names, ", "), full)
			}
		}
		archives = append(archives, a)
	}
	o := registry.Options{}
	if insecure != "" {
		o.Insecure = []string{insecure}
	}
	result, err := registry.New(o).Push(ctx, archives, host, registry.PushOptions{})
	if err != nil {
		return err
	}
	for _, p := range result.Images {
		repository, _, _ := strings.Cut(p.Target, "@")
		fmt.Printf("%s@%s (%s)\n", repository, p.Digest, strings.Join(p.Platforms, ", "))
	}
	return nil
}
