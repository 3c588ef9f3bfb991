import { type Document, isAlias, isCollection, isMap, isPair, isScalar, type Node, type Pair } from 'yaml';

/** A fault and where in the text it begins. */
export interface TextFault {
  message: string;
  at: number;
}

/** What aliases may add to a document, in nodes. */
const maxAliasNodes = 1_000;
/** Values within values. */
export const maxLevels = 200;
const forbiddenKeys = new Set(['__proto__', 'constructor', 'prototype']);

/** The name an object gets of a key; null: it is none. */
const nameOf = (key: unknown): string | null => {
  if (key === null) return '';
  if (!isScalar(key)) return null;
  return key.value === null ? '' : String(key.value);
};

/** Thrown to end the walk. */
class Beyond extends Error {}

/**
 * Faults that the grammar of YAML allows: keys that are given twice, that mean something to whoever reads objects, or that are no text; aliases
 * of nothing or that grow beyond 1,000 nodes; more than 200 levels. The parser looks for the same in time that grows with the square of
 * the text, so it is told not to.
 */
export function treeFaults(document: Document): TextFault[] {
  const faults: TextFault[] = [];
  /** The latest node of each anchor, with its size once it is whole. */
  const anchors = new Map<string, { node: Node; size: number | null }>();
  let aliasNodes = 0;

  const fault = (message: string, node: unknown) => {
    const at = (isCollection(node) || isScalar(node) || isAlias(node)) && node.range ? node.range[0] : 0;
    faults.push({ message, at });
  };

  const keyOf = ({ key }: Pair, names: Set<string>) => {
    const name = nameOf(isAlias(key) ? anchors.get(key.source)?.node : key);
    if (name === null) return fault('has a key that is no text', key);
    if (forbiddenKeys.has(name)) fault(`"${name}" is not a name that can be used`, key);
    if (names.has(name)) fault(`has "${name}" twice`, key);
    names.add(name);
  };

  /** @returns the nodes there are of it when its aliases are expanded */
  const sizeOf = (node: unknown, level: number): number => {
    if (level > maxLevels) {
      fault(`is nested more than ${maxLevels} levels deep`, node);
      throw new Beyond();
    }
    if (isAlias(node)) {
      const size = anchors.get(node.source)?.size ?? null;
      if (size === null) fault(`"*${node.source}" stands for nothing that ends before it`, node);
      aliasNodes += size ?? 0;
      if (aliasNodes <= maxAliasNodes) return size ?? 0;
      fault(`its aliases stand for more than ${maxAliasNodes} values`, node);
      throw new Beyond();
    }
    if (isPair(node)) return sizeOf(node.key, level) + sizeOf(node.value, level);
    if (!isScalar(node) && !isCollection(node)) return 0;
    const anchored = { node, size: null as number | null };
    if (node.anchor !== undefined) anchors.set(node.anchor, anchored);
    let size = 1;
    const names = new Set<string>();
    for (const item of isCollection(node) ? node.items : []) {
      if (isMap(node)) keyOf(item as Pair, names);
      size += sizeOf(item, level + 1);
    }
    anchored.size = size;
    return size;
  };

  try {
    sizeOf(document.contents, 1);
  } catch (error) {
    if (!(error instanceof Beyond)) throw error;
  }
  return faults;
}
