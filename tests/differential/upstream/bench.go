// SPDX-License-Identifier: Apache-2.0
package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	v1 "k8s.io/api/core/v1"
	resourceapi "k8s.io/api/resource/v1"
	"k8s.io/dynamic-resource-allocation/structured"
	"k8s.io/utils/ptr"
)

func answerBench(raw []byte) (answer, error) {
	var head struct {
		Bench string `json:"bench"`
	}
	if err := decode(raw, &head); err != nil {
		return nil, err
	}
	switch head.Bench {
	case "allocate":
		return benchAllocate(raw)
	case "poolstatus":
		return benchPoolStatus(raw)
	}
	return nil, fmt.Errorf("input: bench %q is not known", head.Bench)
}

func benchPoolStatus(raw []byte) (answer, error) {
	var question poolQuestion
	if err := decode(raw, &question); err != nil {
		return nil, err
	}
	question.complete()
	start := time.Now()
	status, err := poolStatus(&question)
	if err != nil {
		return nil, err
	}
	elapsed := float64(time.Since(start).Microseconds()) / 1000
	devices, allocated := int32(0), int32(0)
	for _, pool := range status.Pools {
		devices += ptr.Deref(pool.TotalDevices, 0)
		allocated += ptr.Deref(pool.AllocatedDevices, 0)
	}
	return answer{"elapsedMs": elapsed, "poolCount": status.PoolCount, "devices": devices, "allocated": allocated}, nil
}

// benchAllocate places one claim after the other: claim i on node i mod n, or on the first after it where it fits.
func benchAllocate(raw []byte) (answer, error) {
	var question struct {
		world
		Nodes []*v1.Node `json:"nodes"`
	}
	if err := decode(raw, &question); err != nil {
		return nil, err
	}
	question.complete()
	ctx := context.Background()
	start := time.Now()
	scene, err := question.scene(ctx)
	if err != nil {
		return nil, err
	}
	placed, taken := 0, int64(0)
	for i, claim := range question.Claims {
		allocator, err := scene.allocator(ctx)
		if err != nil {
			return nil, err
		}
		for j := range question.Nodes {
			results, err := allocator.Allocate(ctx, question.Nodes[(i+j)%len(question.Nodes)], []*resourceapi.ResourceClaim{claim})
			if err != nil && !errors.Is(err, structured.ErrFailedAllocationOnNode) {
				return nil, err
			}
			if len(results) == 1 {
				placed++
				take(scene.state, results[0])
				break
			}
		}
		taken += steps(allocator)
	}
	return answer{
		"elapsedMs": float64(time.Since(start).Microseconds()) / 1000,
		"claims":    len(question.Claims), "nodes": len(question.Nodes), "placed": placed, "steps": taken,
	}, nil
}

// take records an allocation as the scheduler's tracker does once it is in flight.
func take(state *structured.AllocatedState, result resourceapi.AllocationResult) {
	for _, device := range result.Devices.Results {
		id := structured.MakeDeviceID(device.Driver, device.Pool, device.Device)
		switch {
		case ptr.Deref(device.AdminAccess, false):
		case device.ShareID == nil:
			state.AllocatedDevices.Insert(id)
		default:
			state.AllocatedSharedDeviceIDs.Insert(structured.MakeSharedDeviceID(id, device.ShareID))
			if device.ConsumedCapacity != nil {
				state.AggregatedCapacity.Insert(structured.NewDeviceConsumedCapacity(id, device.ConsumedCapacity))
			}
		}
	}
}
