// SPDX-License-Identifier: Apache-2.0
package main

import (
	"context"
	"encoding/json"

	resourceapi "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	dracel "k8s.io/dynamic-resource-allocation/cel"
)

// amount reads what stands in JSON, a number or a text, as a quantity.
func amount(raw json.RawMessage) (resource.Quantity, error) {
	var text string
	if json.Unmarshal(raw, &text) != nil {
		text = string(raw)
	}
	return resource.ParseQuantity(text)
}

func answerQuantity(raw []byte) (answer, error) {
	var question struct {
		Text  json.RawMessage `json:"text"`
		Other json.RawMessage `json:"other"`
	}
	if err := decode(raw, &question); err != nil {
		return nil, err
	}
	left, err := amount(question.Text)
	if err != nil {
		return nil, err
	}
	found := answer{"canonical": left.String(), "value": left.Value(), "milliValue": left.MilliValue()}
	if len(question.Other) == 0 || string(question.Other) == "null" {
		return found, nil
	}
	right, err := amount(question.Other)
	if err != nil {
		return nil, err
	}
	sum, difference := left.DeepCopy(), left.DeepCopy()
	sum.Add(right)
	difference.Sub(right)
	found["cmp"], found["add"], found["sub"] = left.Cmp(right), sum.String(), difference.String()
	return found, nil
}

func answerCEL(raw []byte) (answer, error) {
	var question struct {
		Expression string `json:"expression"`
		Device     struct {
			Driver                   string                                                    `json:"driver"`
			Attributes               map[resourceapi.QualifiedName]resourceapi.DeviceAttribute `json:"attributes"`
			Capacity                 map[resourceapi.QualifiedName]resourceapi.DeviceCapacity  `json:"capacity"`
			AllowMultipleAllocations *bool                                                     `json:"allowMultipleAllocations"`
		} `json:"device"`
	}
	if err := decode(raw, &question); err != nil {
		return nil, err
	}
	program := selectors().GetOrCompile(question.Expression)
	if program.Error != nil {
		return answer{"compileError": program.Error.Error()}, nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), deadline)
	defer cancel()
	matches, _, err := program.DeviceMatches(ctx, dracel.Device{
		Driver:                   question.Device.Driver,
		AllowMultipleAllocations: question.Device.AllowMultipleAllocations,
		Attributes:               question.Device.Attributes,
		Capacity:                 question.Device.Capacity,
	})
	if err != nil {
		return answer{"runtimeError": err.Error()}, nil
	}
	return answer{"result": matches}, nil
}
