import type { Evaluator } from './evaluate.ts';
import { type Place, property, type Scalar, scalar, unknown, type Value } from './values.ts';

/** `object.key`; symbolic for things of other modules, unknown for what a spread may hide. */
export function access(object: Value, key: string, place: Place): Value {
  if (object.kind === 'unknown') return object;
  if (object.kind === 'record') return property(object, key) ?? scalar(undefined);
  if (object.kind === 'list' && /^\d+$/.test(key)) return object.items[Number(key)] ?? scalar(undefined);
  if (object.kind === 'list' && key === 'length') return scalar(object.items.length);
  if (object.kind === 'external' && object.name === '*') return { kind: 'external', module: object.module, name: key };
  if (object.kind === 'scalar' && typeof object.value !== 'string')
    return unknown(`"${key}" of ${String(object.value)}`, place);
  return { kind: 'member', object, property: key, place };
}

/** Operators on known scalars. */
export function operate(operator: string, operands: readonly Value[], place: Place): Value {
  const [left, right] = operands;
  if (left?.kind !== 'scalar') {
    // `options ?? {}`: a known left side that is an object is itself.
    const present = left?.kind === 'record' || left?.kind === 'list';
    if (present && (operator === '??' || operator === '||')) return left;
    return left?.kind === 'unknown' ? left : unknown('an operand is not known', place);
  }
  if (operator === '??') return (left.value ?? undefined) === undefined ? (right ?? left) : left;
  if (operator === '||') return left.value ? left : (right ?? left);
  if (operator === '&&') return left.value ? (right ?? left) : left;
  if (right === undefined) return unary(operator, left.value, place);
  if (right.kind !== 'scalar') return right.kind === 'unknown' ? right : unknown('an operand is not known', place);
  return binary(operator, left.value, right.value, place);
}

function unary(operator: string, value: Scalar, place: Place): Value {
  if (operator === '!') return scalar(!value);
  if (operator === 'void') return scalar(undefined);
  if (typeof value === 'number' && (operator === '-' || operator === '+'))
    return scalar(operator === '-' ? -value : value);
  return unknown(`"${operator}" is not understood`, place);
}

function binary(operator: string, left: Scalar, right: Scalar, place: Place): Value {
  if (operator === '===' || operator === '!==') return scalar((left === right) === (operator === '==='));
  if (typeof left === 'number' && typeof right === 'number') {
    if (operator === '+') return scalar(left + right);
    if (operator === '-') return scalar(left - right);
    if (operator === '*') return scalar(left * right);
    if (operator === '/') return scalar(left / right);
    if (operator === '**') return scalar(left ** right);
  }
  const joins = operator === '+' && (typeof left === 'string' || typeof right === 'string');
  return joins ? scalar(String(left) + String(right)) : unknown(`"${operator}" is not understood`, place);
}

/** The few functions of the language that configurations use on constants; null for any other call. */
export function callKnown(callee: Value, args: readonly Value[], place: Place, evaluator: Evaluator): Value | null {
  if (callee.kind !== 'member') return null;
  const { object, property: name } = callee;
  const [first] = args;
  if (object.kind === 'external' && object.module === '' && object.name === 'Object') {
    return objectFunction(name, first, place);
  }
  if (object.kind !== 'list') return null;
  if (!evaluator.spend(object.items.length)) return unknown('the list is too long', place);
  if (name === 'map' && first) {
    const items = object.items.map((item, at) => evaluator.apply(first, [item, scalar(at)], place));
    return { kind: 'list', items, place };
  }
  if (name === 'concat' && args.every((arg) => arg.kind === 'list')) {
    const items = [...object.items, ...args.flatMap((arg) => (arg.kind === 'list' ? arg.items : []))];
    return evaluator.spend(items.length) ? { kind: 'list', items, place } : unknown('the list is too long', place);
  }
  return unknown(`"${name}" of a list is not understood`, place);
}

function objectFunction(name: string, value: Value | undefined, place: Place): Value {
  if (name === 'freeze' && value) return value;
  if (value?.kind !== 'record' || value.parts.some(([key]) => key === null))
    return unknown(`Object.${name} is not understood`, place);
  const entries = [...new Map(value.parts)];
  if (name === 'keys') return { kind: 'list', items: entries.map(([key]) => scalar(key)), place };
  if (name === 'values') return { kind: 'list', items: entries.map(([, item]) => item), place };
  return unknown(`Object.${name} is not understood`, place);
}
