// Package rules holds no code: its tests keep the rules that no single package can keep.
package rules
