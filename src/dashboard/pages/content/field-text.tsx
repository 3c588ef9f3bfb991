import { useTranslation } from 'react-i18next';
import { wordsOf } from '../../../lib/field-label.ts';
import type { CollectionFieldFragment } from '../../documents.ts';
import { useFormats } from '../../lib/format.ts';
import { MarkedText } from '../../parts/marked-text.tsx';

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

/** Letters of a value that a cell holds; the rest is in the entry. */
const longest = 200;

/** The value of a field in a cell. */
export function FieldText({ field, value }: { field: CollectionFieldFragment; value: unknown }) {
  const { t } = useTranslation('content');
  const { date, time, number } = useFormats();
  const textOf = (one: unknown): string => {
    if (one === null || one === undefined) return '';
    if (typeof one === 'boolean') return t(one ? 'yes' : 'no');
    if (typeof one === 'number') return number(one);
    if (typeof one !== 'string') return JSON.stringify(one);
    const isTime = !Number.isNaN(Date.parse(one));
    if (field.type === 'date' && isTime) return date(`${one.slice(0, 10)}T12:00:00`);
    if (field.type === 'datetime' && isTime) return time(one);
    return one;
  };
  const text = Array.isArray(value) ? value.map(textOf).join(', ') : textOf(value);
  return (
    <span dir="auto" title={text.slice(0, 1_000)}>
      <MarkedText text={text.slice(0, longest)} />
    </span>
  );
}
