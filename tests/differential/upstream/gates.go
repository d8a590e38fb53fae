// SPDX-License-Identifier: Apache-2.0
package main

import (
	"encoding/json"
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/util/version"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	"k8s.io/component-base/featuregate"
	_ "k8s.io/kubernetes/pkg/features" // registers the gates
)

// gates answers for the gates of device allocation and leaves the others as they are. Upstream's own object refuses to
// turn off what its release has locked, which older releases had off.
type gates struct {
	featuregate.FeatureGate
	on map[featuregate.Feature]bool
}

func (g *gates) Enabled(name featuregate.Feature) bool {
	if on, ours := g.on[name]; ours {
		return on
	}
	return g.FeatureGate.Enabled(name)
}

var current *gates

func useOwnGates() {
	current = &gates{FeatureGate: utilfeature.DefaultFeatureGate}
	utilfeature.DefaultFeatureGate = current
}

func ours(name featuregate.Feature) bool {
	text := string(name)
	return strings.HasPrefix(text, "DRA") || strings.HasPrefix(text, "ResourceHealthStatus") || text == "DynamicResourceAllocation"
}

// defaults gives the gates as the release has them without any option.
func defaults(release string) map[featuregate.Feature]bool {
	on := map[featuregate.Feature]bool{}
	wanted := version.MustParse(release)
	for name, specs := range utilfeature.DefaultMutableFeatureGate.GetAllVersioned() {
		if !ours(name) {
			continue
		}
		on[name] = false
		for _, spec := range specs { // oldest first
			if spec.MinCompatibilityVersion == nil && !wanted.LessThan(spec.Version) {
				on[name] = spec.Default
			}
		}
	}
	return on
}

// setGates reads a release, "all", or gates by name over the defaults of 1.37.
func setGates(raw json.RawMessage) error {
	current.on = defaults("1.37")
	if len(raw) == 0 || string(raw) == "null" {
		return nil
	}
	var release string
	if json.Unmarshal(raw, &release) == nil {
		switch release {
		case "all":
			for name := range current.on {
				current.on[name] = true
			}
		case "1.34", "1.35", "1.36", "1.37":
			current.on = defaults(release)
		default:
			return fmt.Errorf("%q is not a known release", release)
		}
		return nil
	}
	var named map[string]bool
	if err := json.Unmarshal(raw, &named); err != nil {
		return err
	}
	for name, on := range named {
		if _, known := current.on[featuregate.Feature(name)]; !known {
			return fmt.Errorf("feature gate %s is not known", name)
		}
		current.on[featuregate.Feature(name)] = on
	}
	return nil
}
