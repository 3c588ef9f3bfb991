/** From a field of the schema to the widget that edits it: the most special one that fits, and YAML for what none fits. */
import { type ComponentType, lazy, Suspense, useMemo, useRef, useSyncExternalStore } from 'react';
import { ColorWidget } from './color.tsx';
import { DateWidget } from './date.tsx';
import type { Field } from './field.ts';
import { useForm, type WidgetProps } from './form.tsx';
import { ListWidget } from './list.tsx';
import { MediaWidget } from './media.tsx';
import { NumberWidget } from './number.tsx';
import { ObjectWidget } from './object.tsx';
import { RelationWidget } from './relation.tsx';
import { MultiSelectWidget, SelectWidget } from './select.tsx';
import { SwitchWidget } from './switch.tsx';
import { TagsWidget } from './tags.tsx';
import { LongTextWidget, TextWidget, UrlWidget } from './text.tsx';
import { VariantsWidget } from './variants.tsx';

const YamlWidget = lazy(async () => ({ default: (await import('./yaml.tsx')).YamlWidget }));

const isHexPattern = (pattern: string) => /[0-9a-f]-?f?\]\{(3|6)/i.test(pattern) && pattern.includes('#');
const isColor = ({ name, pattern, widget }: Field) =>
  widget === 'color' || (pattern === undefined ? /(^|_|-|[a-z])colou?r$/i.test(name) : isHexPattern(pattern));
const isUrl = ({ name }: Field) => /(^|[_-])(url|href|website|homepage)$|[a-z]Url$/.test(name);
const isLong = ({ name, maxLength = 0 }: Field) =>
  maxLength > 120 || /^(description|summary|excerpt|bio|abstract|intro|lead|teaser)$/i.test(name);

function widgetForText(field: Field, value: unknown): ComponentType<WidgetProps> {
  const isBlock = typeof value === 'string' && (value.includes('\n') || value.length > 120);
  if (isColor(field) && (value === undefined || /^(#|rgba?\(|$)/.test(String(value)))) return ColorWidget;
  if (isUrl(field)) return UrlWidget;
  return isLong(field) || (isBlock && field.name !== 'title') ? LongTextWidget : TextWidget;
}

function widgetForList({ item }: Field): ComponentType<WidgetProps> {
  if (item?.type === 'enum') return MultiSelectWidget;
  return item?.type === 'string' ? TagsWidget : ListWidget;
}

/** Values that are not of their field's type are edited as what they are. */
function fitsType(type: Field['type'], value: unknown): boolean {
  if (value === undefined) return true;
  switch (type) {
    case 'object':
      return typeof value === 'object' && value !== null && !Array.isArray(value);
    case 'list':
      return Array.isArray(value);
    case 'reference':
      return (typeof value === 'object' && value !== null) || typeof value === 'string';
    case 'boolean':
      return typeof value === 'boolean';
    case 'number':
    case 'integer':
      return typeof value === 'number' || typeof value === 'string';
    case 'enum':
    case 'variants':
    case 'json':
    case 'any':
      return true;
    default:
      return typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean';
  }
}

/** @param value what is stored; it decides where the schema says nothing */
export function widgetFor(field: Field, value: unknown): ComponentType<WidgetProps> {
  if (!fitsType(field.type, value)) return YamlWidget;
  switch (field.type) {
    case 'string':
      return widgetForText(field, value);
    case 'text':
    case 'markdown':
      return LongTextWidget;
    case 'number':
    case 'integer':
      return NumberWidget;
    case 'boolean':
      return SwitchWidget;
    case 'date':
    case 'datetime':
      return DateWidget;
    case 'enum':
      return SelectWidget;
    case 'image':
    case 'file':
      return MediaWidget;
    case 'link':
      return UrlWidget;
    case 'reference':
      return RelationWidget;
    case 'object':
      return ObjectWidget;
    case 'list':
      return widgetForList(field);
    case 'variants':
      return VariantsWidget;
    default:
      return typeof value === 'string' && !value.includes('\n') ? TextWidget : YamlWidget;
  }
}

/**
 * Any field. Its widget stays the one it began with as long as that can edit the value, so that typing never takes the focus away: YAML can edit
 * any, also one that has become of the field's type.
 */
export function FieldView({ field, pointer }: WidgetProps) {
  const { store } = useForm();
  const fits = useSyncExternalStore(store.subscribe, () => fitsType(field.type, store.value(pointer)));
  const wasOdd = useRef(false);
  wasOdd.current ||= !fits;
  const isHidden = field.widget === 'hidden';
  const Widget = useMemo(() => widgetFor(field, store.value(pointer)), [store, field.type, pointer, wasOdd.current]);
  if (isHidden) return null;
  return (
    <Suspense>
      <Widget field={field} pointer={pointer} />
    </Suspense>
  );
}
