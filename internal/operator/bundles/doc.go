// Package bundles has the bundles of Infrastructures: a pod fetches one and reads its head (Fetcher, Inspect), and the
// controller of Infrastructures has that done for each, and reports what there is.
//
// Begin reading at Infrastructures.
package bundles
