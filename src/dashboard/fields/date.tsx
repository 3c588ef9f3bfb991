/** Dates, and instants with their zone, in the form they are stored in: what is not changed keeps its letters. */
import { Group, Input, Select, TextInput } from '@mantine/core';
import { useId } from 'react';
import { useTranslation } from 'react-i18next';
import { DateField, TimeField } from '../parts/date-field.tsx';
import { textOf, useField, type WidgetProps } from './form.tsx';

const form =
  /^(\d{4}-\d{2}-\d{2})(?:([Tt]|[ \t]+)(\d{1,2}:\d{2}(?::\d{2}(?:\.\d+)?)?)(\s*)(Z|z|[+-]\d{1,2}(?::?\d{2})?)?)?$/;

export interface Moment {
  date: string;
  /** Between date and time; '' without a time. */
  gap: string;
  time: string;
  /** Before the zone. */
  space: string;
  /** `Z`, `+02:00`, or '' when none is stored. */
  zone: string;
}

/** @returns null for a text that is no date */
export function readMoment(text: string): Moment | null {
  const match = form.exec(text.trim());
  if (!match) return null;
  const [, date = '', gap = '', time = '', space = '', zone = ''] = match;
  return { date, gap, time, space, zone };
}

export const writeMoment = ({ date, gap, time, space, zone }: Moment): string =>
  time === '' ? date : `${date}${gap || 'T'}${time}${space}${zone}`;

/** Offset of the browser's zone at a local time, `+02:00`. */
export function offsetAt(date: string, time: string): string {
  const minutes = -new Date(`${date}T${time || '12:00'}`).getTimezoneOffset();
  if (Number.isNaN(minutes)) return 'Z';
  const [hours, rest] = [Math.floor(Math.abs(minutes) / 60), Math.abs(minutes) % 60];
  return `${minutes < 0 ? '-' : '+'}${String(hours).padStart(2, '0')}:${String(rest).padStart(2, '0')}`;
}

/**
 * A typed time in the form that the stored one has: with seconds, without which an instant is none in YAML, TOML and RFC 3339, unless what is
 * stored does without them.
 */
export const withSeconds = (time: string, stored: string): string =>
  /^\d{1,2}:\d{2}$/.test(time) && !/^\d{1,2}:\d{2}$/.test(stored) ? `${time}:00` : time;

/** The day it is where the browser is. */
function todayHere(): string {
  const now = new Date();
  return [now.getFullYear(), now.getMonth() + 1, now.getDate()].map((part) => String(part).padStart(2, '0')).join('-');
}

export function DateWidget({ field, pointer }: WidgetProps) {
  const { t } = useTranslation('entry');
  const { value, set, labels, isReadOnly } = useField({ field, pointer });
  const id = useId();
  const text = textOf(value);
  const moment = text === '' ? { date: '', gap: '', time: '', space: '', zone: '' } : readMoment(text);
  // What is stored in another form is edited as the text it is.
  if (moment === null)
    return (
      <TextInput {...labels} value={text} onChange={(event) => set(event.currentTarget.value)} readOnly={isReadOnly} />
    );
  const change = (part: Partial<Moment>) => {
    const next = { ...moment, ...part };
    set(next.date === '' ? undefined : writeMoment(next));
  };
  const withTime = field.type === 'datetime' || moment.time !== '';
  const date = (
    <DateField
      {...(withTime ? { id, 'aria-required': field.isRequired, style: { flex: '1 1 8.5rem' } } : labels)}
      name={field.label}
      value={moment.date}
      onChange={(date) => change({ date })}
      readOnly={isReadOnly}
    />
  );
  if (!withTime) return date;
  const own = offsetAt(moment.date, moment.time);
  const zones = [...new Set(['', 'Z', own, moment.zone])];
  return (
    <Input.Wrapper {...labels} id={id}>
      <Group gap={4} wrap="wrap" align="start">
        {date}
        <TimeField
          aria-label={t('time_of', { label: field.label })}
          value={moment.time}
          style={{ flex: '0 1 7.5rem' }}
          complete={(time) => withSeconds(time, moment.time)}
          onChange={(time) => {
            const date = moment.date || todayHere();
            change({ date, time, ...(moment.time === '' && moment.zone === '' && { zone: offsetAt(date, time) }) });
          }}
          readOnly={isReadOnly}
        />
        <Select
          aria-label={t('zone_of', { label: field.label })}
          data={zones.map((zone) => ({
            value: zone || 'none',
            label: zone === '' ? t('zone_none') : zone === 'Z' ? 'UTC' : zone,
          }))}
          value={moment.zone || 'none'}
          onChange={(zone) => change({ zone: zone === 'none' ? '' : (zone ?? '') })}
          disabled={isReadOnly || moment.time === ''}
          style={{ flex: '0 1 6.5rem' }}
        />
      </Group>
    </Input.Wrapper>
  );
}
