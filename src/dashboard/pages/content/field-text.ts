import type { TFunction } from 'i18next';
import { wordsOf } from '../../../lib/field-label.ts';
import type { CollectionFieldFragment } from '../../documents.ts';
import type { Formats } from '../../lib/format.ts';

/** `cover_alt` → "Cover alt", where the site gives a field no label. */
export function fieldLabel({ name, label }: Pick<CollectionFieldFragment, 'name' | 'label'>): string {
  return label || wordsOf(name);
}

const plain = new Set([
  'boolean',
  'date',
  'datetime',
  'enum',
  'integer',
  'number',
  'string',
  'text',
  'reference',
  'link',
]);

/** Whether a field holds one plain value, so that entries can be ordered and filtered by it. */
export const isSortable = ({ type, list }: Pick<CollectionFieldFragment, 'type' | 'list'>): boolean =>
  !list && plain.has(type);

/** The value of a field as a cell has it. */
export function fieldText(
  { type }: Pick<CollectionFieldFragment, 'type'>,
  value: unknown,
  t: TFunction<'content'>,
  { date, time, number }: Formats,
): string {
  const textOf = (one: unknown): string => {
    if (one === null || one === undefined) return '';
    if (typeof one === 'boolean') return t(one ? 'yes' : 'no');
    if (typeof one === 'number') return number(one);
    if (typeof one !== 'string') return JSON.stringify(one);
    const isTime = !Number.isNaN(Date.parse(one));
    if (type === 'date' && isTime) return date(`${one.slice(0, 10)}T12:00:00`);
    if (type === 'datetime' && isTime) return time(one);
    return one;
  };
  return Array.isArray(value) ? value.map(textOf).join(', ') : textOf(value);
}
