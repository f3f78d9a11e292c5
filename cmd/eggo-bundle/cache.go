package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/eggo-k8s/eggo/internal/bundle/fetch"
	"github.com/eggo-k8s/eggo/internal/output/cli"
	"github.com/eggo-k8s/eggo/internal/output/report"
	"github.com/eggo-k8s/eggo/internal/run/event"
)

func newCache(env *environment) *cobra.Command {
	p := env.P
	cmd := cli.Group(&cobra.Command{Use: "cache", SuggestionsMinimumDistance: 2, Short: p.T("bundle.cli.cache.short"),
		Args: cli.UnknownCommand})
	dir := cmd.PersistentFlags().String("cache", "", p.T("bundle.cli.flag.cache"))
	cmd.RunE = func(cmd *cobra.Command, _ []string) error { return cmd.Help() }
	cmd.AddCommand(newCacheSize(env, dir), newCachePrune(env, dir))
	return cmd
}

func newCacheSize(env *environment, dir *string) *cobra.Command {
	cmd := &cobra.Command{Use: "size", Short: env.P.T("bundle.cli.cache.size.short"), Args: cli.Exactly()}
	output := outputFlag(cmd, env)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		asJSON, err := output()
		if err != nil {
			return err
		}
		c, err := openCache(*dir)
		if err != nil {
			return err
		}
		n, err := c.Size(cmd.Context())
		if err != nil {
			return err
		}
		where, err := cacheDir(*dir)
		if err != nil {
			return err
		}
		if asJSON {
			return env.emit("cache", fields{"dir": where, "bytes": n})
		}
		return env.say(env.P.T("bundle.cli.cache.size", "dir", where, "size", report.Amount(n)))
	}
	return cmd
}

func cacheDir(dir string) (string, error) {
	if dir != "" {
		return dir, nil
	}
	return fetch.DefaultDir()
}

func newCachePrune(env *environment, dir *string) *cobra.Command {
	p := env.P
	cmd := &cobra.Command{Use: "prune", Short: p.T("bundle.cli.cache.prune.short"),
		Long: p.T("bundle.cli.cache.prune.long"), Args: cli.Exactly()}
	age := cmd.Flags().String("max-age", "", p.T("bundle.cli.flag.max-age"))
	most := cmd.Flags().String("max-size", "", p.T("bundle.cli.flag.max-size"))
	all := cmd.Flags().Bool("all", false, p.T("bundle.cli.flag.all"))
	output := outputFlag(cmd, env)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		asJSON, err := output()
		if err != nil {
			return err
		}
		o := fetch.PruneOptions{All: *all}
		if *age != "" {
			if o.MaxAge, err = parseAge("--max-age", *age); err != nil {
				return err
			}
		}
		if *most != "" {
			if o.MaxSize, err = parseSize("--max-size", *most); err != nil {
				return err
			}
			if o.MaxSize == 0 {
				return event.NewFault(event.ClassUsage, "usage.max-size", nil)
			}
		}
		c, err := openCache(*dir)
		if err != nil {
			return err
		}
		res, err := c.Prune(cmd.Context(), o, env.Now())
		if err != nil {
			return err
		}
		if asJSON {
			return env.emit("pruned", fields{"files": res.Files, "bytes": res.Bytes, "kept_files": res.KeptFiles,
				"kept_bytes": res.KeptBytes})
		}
		return env.say(p.T("bundle.cli.cache.pruned",
			"files", fmt.Sprint(res.Files), "size", report.Amount(res.Bytes), "kept", fmt.Sprint(res.KeptFiles), "left",
			report.Amount(res.KeptBytes)))
	}
	return cmd
}
