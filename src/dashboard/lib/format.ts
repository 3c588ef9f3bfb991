import { useMemo } from 'react';
import { useTranslation } from 'react-i18next';
import { localeOf } from './typed-date.ts';
import { useViewer } from './viewer.tsx';

const units: readonly [Intl.RelativeTimeFormatUnit, seconds: number][] = [
  ['year', 31_536_000],
  ['month', 2_592_000],
  ['day', 86_400],
  ['hour', 3_600],
  ['minute', 60],
];

/** Dates and numbers in the words of the person's language, in the person's time zone. */
export interface Formats {
  /** "2 hours ago", in words for up to a month, then the date. */
  ago: (time: string, now?: number) => string;
  /** Date with time of day and, where it is not that of the browser, the zone. */
  time: (time: string) => string;
  date: (time: string) => string;
  number: (value: number) => string;
  /** 1,536 → "1.5 kB" */
  bytes: (value: number) => string;
  /** Milliseconds → "1 min 12 s" */
  duration: (milliseconds: number) => string;
}

export function formatsFor(language: string, zone: string | undefined): Formats {
  const locale = localeOf(language);
  const own = Intl.DateTimeFormat().resolvedOptions().timeZone;
  const timeZone = zone ?? own;
  const relative = new Intl.RelativeTimeFormat(locale, { numeric: 'auto' });
  const date = new Intl.DateTimeFormat(locale, { dateStyle: 'medium', timeZone });
  const time = new Intl.DateTimeFormat(locale, {
    year: 'numeric',
    month: 'short',
    day: 'numeric',
    hour: '2-digit',
    minute: '2-digit',
    timeZone,
    ...(timeZone !== own && { timeZoneName: 'short' }),
  });
  const number = new Intl.NumberFormat(locale);
  const short = new Intl.NumberFormat(locale, { maximumFractionDigits: 1 });
  const bytes = (value: number): string => {
    const names = ['B', 'kB', 'MB', 'GB', 'TB'];
    const power = Math.min(Math.floor(Math.log(Math.max(value, 1)) / Math.log(1000)), names.length - 1);
    return `${short.format(value / 1000 ** power)} ${names[power]}`;
  };
  return {
    ago: (text, now = Date.now()) => {
      const seconds = (Date.parse(text) - now) / 1000;
      if (Math.abs(seconds) > 2_592_000) return date.format(new Date(text));
      const [unit, length] = units.find(([, length]) => Math.abs(seconds) >= length) ?? ['second', 1];
      return unit === 'second' ? relative.format(0, 'minute') : relative.format(Math.round(seconds / length), unit);
    },
    time: (text) => time.format(new Date(text)),
    date: (text) => date.format(new Date(text)),
    number: (value) => number.format(value),
    bytes,
    duration: (milliseconds) => {
      const seconds = Math.round(milliseconds / 1000);
      if (milliseconds < 10_000) return `${short.format(milliseconds / 1000)} s`;
      const minutes = Math.floor(seconds / 60);
      return minutes === 0 ? `${seconds} s` : `${minutes} min ${seconds % 60} s`;
    },
  };
}

export function useFormats(): Formats {
  const { i18n } = useTranslation();
  const zone = useViewer().me?.preferences?.time_zone ?? undefined;
  return useMemo(() => formatsFor(i18n.language, zone), [i18n.language, zone]);
}
