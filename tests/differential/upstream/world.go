// SPDX-License-Identifier: Apache-2.0
package main

import (
	"context"

	resourceapi "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/informers"
	resourceinformers "k8s.io/client-go/informers/resource/v1"
	"k8s.io/client-go/kubernetes/fake"
	resourcelisters "k8s.io/client-go/listers/resource/v1"
	"k8s.io/client-go/tools/cache"
	"k8s.io/dynamic-resource-allocation/deviceclass/extendedresourcecache"
	"k8s.io/dynamic-resource-allocation/resourceslice/tracker"
	"k8s.io/klog/v2"
	"k8s.io/kubernetes/pkg/api/legacyscheme"
	_ "k8s.io/kubernetes/pkg/apis/core/install"
	_ "k8s.io/kubernetes/pkg/apis/resource/install"
	"k8s.io/kubernetes/pkg/features"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/dynamicresources"
	"k8s.io/kubernetes/pkg/scheduler/util/assumecache"
)

// world is what the scheduler sees of a cluster.
type world struct {
	Slices          []*resourceapi.ResourceSlice   `json:"slices"`
	Classes         []*resourceapi.DeviceClass     `json:"classes"`
	TaintRules      []*resourceapi.DeviceTaintRule `json:"taintRules"`
	AllocatedClaims []*resourceapi.ResourceClaim   `json:"allocatedClaims"`
	Claims          []*resourceapi.ResourceClaim   `json:"claims"`
}

// complete gives every object the API server's defaults.
func (w *world) complete() {
	for _, slice := range w.Slices {
		legacyscheme.Scheme.Default(slice)
	}
	for _, class := range w.Classes {
		legacyscheme.Scheme.Default(class)
	}
	for _, rule := range w.TaintRules {
		legacyscheme.Scheme.Default(rule)
	}
	for _, claim := range w.AllocatedClaims {
		legacyscheme.Scheme.Default(claim)
	}
	for _, claim := range w.Claims {
		legacyscheme.Scheme.Default(claim)
	}
}

// manager is the scheduler's own view, filled at once instead of by informers, with the slices in the order given.
func (w *world) manager(ctx context.Context, claims []*resourceapi.ResourceClaim) (*dynamicresources.DefaultDRAManager, error) {
	slices, err := w.tainted(ctx)
	if err != nil {
		return nil, err
	}
	ready := sliceInformer{newInformer(slices), sliceLister{items: slices}}
	thin, err := tracker.StartTracker(ctx, tracker.Options{SliceInformer: ready})
	if err != nil {
		return nil, err
	}
	factory := informers.NewSharedInformerFactory(fake.NewClientset(), 0)
	classes := factory.Resource().V1().DeviceClasses().Informer().GetIndexer()
	for _, class := range w.Classes {
		if err := classes.Add(class); err != nil {
			return nil, err
		}
	}
	known := assumecache.NewAssumeCache(klog.FromContext(ctx), newInformer(claims), "ResourceClaim", "", nil)
	manager := dynamicresources.NewDRAManager(ctx, known, thin, factory)
	if resolver, ok := manager.DeviceClassResolver().(*extendedresourcecache.ExtendedResourceCache); ok && resolver != nil {
		for _, class := range w.Classes {
			resolver.OnAdd(class, true)
		}
	}
	return manager, nil
}

// tainted gives the slices as the scheduler sees them: with the taints of rules on top.
func (w *world) tainted(ctx context.Context) ([]*resourceapi.ResourceSlice, error) {
	if len(w.TaintRules) == 0 || !current.Enabled(features.DRADeviceTaintRules) {
		return w.Slices, nil
	}
	patching, err := tracker.StartTracker(ctx, tracker.Options{
		EnableDeviceTaintRules: true,
		SliceInformer:          sliceInformer{newInformer(w.Slices), sliceLister{items: w.Slices}},
		TaintInformer:          ruleInformer{newInformer(w.TaintRules), nil},
	})
	if err != nil {
		return nil, err
	}
	defer patching.Stop()
	patched, err := patching.ListPatchedResourceSlices()
	if err != nil {
		return nil, err
	}
	byName := map[string]*resourceapi.ResourceSlice{}
	for _, slice := range patched {
		byName[slice.Name] = slice
	}
	ordered := make([]*resourceapi.ResourceSlice, 0, len(w.Slices))
	for _, slice := range w.Slices {
		ordered = append(ordered, byName[slice.Name])
	}
	return ordered, nil
}

// informer hands out what it was made with, at once. The embedded interface stands for what nobody here calls.
type informer[T cache.Object] struct {
	cache.TypedSharedIndexInformer[T]
	items   []T
	indexer cache.Indexer
}

func newInformer[T cache.Object](items []T) informer[T] {
	return informer[T]{items: items, indexer: cache.NewIndexer(cache.MetaNamespaceKeyFunc, cache.Indexers{})}
}

func (i informer[T]) AddTypedIndexers(indexers cache.TypedIndexers[T]) error {
	return i.indexer.AddIndexers(cache.TypedIndexersToIndexers(indexers))
}

func (i informer[T]) AddTypedEventHandler(handler cache.TypedResourceEventHandler[T], _ ...cache.HandlerOptions) (cache.ResourceEventHandlerRegistration, error) {
	for _, item := range i.items {
		if err := i.indexer.Add(item); err != nil {
			return nil, err
		}
		handler.OnAdd(item, true)
	}
	return done{}, nil
}

func (i informer[T]) AddEventHandler(handler cache.ResourceEventHandler) (cache.ResourceEventHandlerRegistration, error) {
	return i.AddEventHandlerWithOptions(handler, cache.HandlerOptions{})
}

func (i informer[T]) AddEventHandlerWithOptions(handler cache.ResourceEventHandler, _ cache.HandlerOptions) (cache.ResourceEventHandlerRegistration, error) {
	for _, item := range i.items {
		handler.OnAdd(item, true)
	}
	return done{}, nil
}

func (i informer[T]) RemoveEventHandler(cache.ResourceEventHandlerRegistration) error { return nil }
func (i informer[T]) GetIndexer() cache.Indexer                                       { return i.indexer }
func (i informer[T]) HasSynced() bool                                                 { return true }

// done says that all has been delivered.
type done struct{}

func (done) Name() string                          { return "done" }
func (done) HasSynced() bool                       { return true }
func (d done) HasSyncedChecker() cache.DoneChecker { return d }
func (done) Done() <-chan struct{} {
	closed := make(chan struct{})
	close(closed)
	return closed
}

type sliceInformer struct {
	informer[*resourceapi.ResourceSlice]
	lister resourcelisters.ResourceSliceLister
}

func (i sliceInformer) Informer() cache.SharedIndexInformer { return i.informer }
func (i sliceInformer) TypedInformer() resourceinformers.ResourceSliceIndexInformer {
	return i.informer
}
func (i sliceInformer) Lister() resourcelisters.ResourceSliceLister { return i.lister }

type ruleInformer struct {
	informer[*resourceapi.DeviceTaintRule]
	lister resourcelisters.DeviceTaintRuleLister
}

func (i ruleInformer) Informer() cache.SharedIndexInformer { return i.informer }
func (i ruleInformer) TypedInformer() resourceinformers.DeviceTaintRuleIndexInformer {
	return i.informer
}
func (i ruleInformer) Lister() resourcelisters.DeviceTaintRuleLister { return i.lister }

// Listers in the order given: upstream's own order is that of a map, and then several answers would be right.

type sliceLister struct {
	resourcelisters.ResourceSliceLister
	items []*resourceapi.ResourceSlice
}

func (l sliceLister) List(labels.Selector) ([]*resourceapi.ResourceSlice, error) { return l.items, nil }

type ruleLister struct {
	resourcelisters.DeviceTaintRuleLister
	items []*resourceapi.DeviceTaintRule
}

func (l ruleLister) List(labels.Selector) ([]*resourceapi.DeviceTaintRule, error) {
	return l.items, nil
}

type claimLister struct {
	resourcelisters.ResourceClaimLister
	items []*resourceapi.ResourceClaim
}

func (l claimLister) List(labels.Selector) ([]*resourceapi.ResourceClaim, error) { return l.items, nil }
