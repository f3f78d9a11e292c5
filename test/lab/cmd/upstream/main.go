// Command upstream makes and serves what a bundle builder downloads from the Internet, for the lab. See
// test/lab/upstream/README.md.
package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/eggo-k8s/eggo/test/lab/upstream"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := root().ExecuteContext(ctx)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "upstream:", err)
		os.Exit(1)
	}
}

func root() *cobra.Command {
	var dir, spec, kubernetes string
	var arches []string
	c := &cobra.Command{
		Use: "upstream", Short: "the Internet of the lab: make and serve what a bundle builder downloads",
		SilenceUsage: true, SilenceErrors: true,
	}
	f := c.PersistentFlags()
	f.StringVar(&dir, "dir", "",
		"cache directory (default $EGGO_LAB_DIR/upstream or eggo-lab/upstream in the user's cache)")
	f.StringVarP(&spec, "spec", "f", "",
		"bundle spec whose URLs and images are meant (default the one that eggo-bundle carries)")
	f.StringVar(&kubernetes, "kubernetes", "", "another version of Kubernetes than the spec's, such as v1.33.13")
	f.StringSliceVar(&arches, "arch", nil,
		"architectures of the files and of the images of kubeadm (default this machine's); other images are made for "+
			"amd64 and arm64")
	options := func() (upstream.Options, error) {
		s, err := upstream.LoadSpec(spec)
		if err == nil && kubernetes != "" {
			s = s.At(kubernetes)
		}
		return upstream.Options{Dir: dir, Spec: s, Arches: arches}, err
	}
	c.AddCommand(build(options), serve(options), list(options))
	return c
}

func build(options func() (upstream.Options, error)) *cobra.Command {
	return &cobra.Command{
		Use: "build", Short: "make what is not there yet", Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			o, err := options()
			if err != nil {
				return err
			}
			o.Report = upstream.Printer(c.ErrOrStderr())
			return upstream.Build(c.Context(), o)
		},
	}
}

func serve(options func() (upstream.Options, error)) *cobra.Command {
	var addr, mirrors string
	var print bool
	c := &cobra.Command{
		Use: "serve", Short: "serve it until interrupted", Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			o, err := options()
			if err != nil {
				return err
			}
			if err := complete(o); err != nil {
				return err
			}
			s, err := upstream.Serve(c.Context(), o.Dir, addr, o.Spec)
			if err != nil {
				return err
			}
			if mirrors != "" {
				if err := upstream.WriteMirrors(mirrors, s.Addr); err != nil {
					return err
				}
			}
			if print {
				fmt.Fprintln(c.OutOrStdout(), strings.Join(s.Mirrors(), "\n"))
			}
			fmt.Fprintln(c.ErrOrStderr(), "serving on http://"+s.Addr)
			return s.Wait()
		},
	}
	c.Flags().StringVar(&addr, "addr", "127.0.0.1:0", "address to listen on; port 0 takes a free one")
	c.Flags().StringVar(&mirrors, "mirrors", "",
		"write the mirrors to this file, one FROM=TO a line, for eggo-bundle build --mirrors")
	c.Flags().BoolVar(&print, "print-mirrors", false,
		"print the mirrors, one FROM=TO a line, for eggo-bundle build --mirror")
	return c
}

// complete says what a server would be lacking.
func complete(o upstream.Options) error {
	items, err := upstream.List(o)
	if err != nil {
		return err
	}
	for _, i := range items {
		if i.Size < 0 {
			return fmt.Errorf("%s is not there yet; run: upstream build", i.Name)
		}
	}
	return nil
}

func list(options func() (upstream.Options, error)) *cobra.Command {
	return &cobra.Command{
		Use: "list", Short: "what the spec names and what of it is there", Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			o, err := options()
			if err != nil {
				return err
			}
			items, err := upstream.List(o)
			if err != nil {
				return err
			}
			return table(c.OutOrStdout(), items)
		},
	}
}

func table(w io.Writer, items []upstream.Item) error {
	for _, i := range items {
		size := "missing"
		if i.Size >= 0 {
			size = fmt.Sprintf("%.1f MB", float64(i.Size)/1e6)
		}
		if _, err := fmt.Fprintf(w, "%10s  %s\n", size, i.Name); err != nil {
			return err
		}
	}
	return nil
}
