/**
 * Days and times of day as people type them. Days are `YYYY-MM-DD`, times `HH:MM` or `HH:MM:SS`, as they are stored; shown, a day is written in
 * the person's language, and it can be typed like that, by digits with the day first, or as it is stored.
 */

/** English dates name the month, after the day: what stands where is plain everywhere. */
export const localeOf = (language: string): string => (language === 'en' ? 'en-GB' : language);

const formatOf = (language: string, options: Intl.DateTimeFormatOptions) =>
  new Intl.DateTimeFormat(localeOf(language), { ...options, timeZone: 'UTC' });

/** A day that there is, as it is stored. */
function dayOf(year: number, month: number, day: number): string | null {
  const date = new Date(0);
  date.setUTCFullYear(year, month - 1, day);
  if (date.getUTCFullYear() !== year || date.getUTCMonth() !== month - 1 || date.getUTCDate() !== day) return null;
  return [String(year).padStart(4, '0'), ...[month, day].map((part) => String(part).padStart(2, '0'))].join('-');
}

const plain = (text: string) =>
  text
    .normalize('NFD')
    .replace(/\p{M}|\./gu, '')
    .toLowerCase();

/** The month a text begins the name of, with at least three letters; 0: none. */
function monthOf(text: string, language: string): number {
  const typed = plain(text);
  if (typed.length < 3) return 0;
  const names = Array.from({ length: 12 }, (_, month) =>
    (['long', 'short'] as const).map((style) =>
      plain(formatOf(language, { month: style }).format(Date.UTC(2000, month, 1))),
    ),
  );
  return names.findIndex((both) => both.some((name) => name.startsWith(typed))) + 1;
}

/** @returns the day as it is stored; null for a text that is no day */
export function readDay(text: string, language: string): string | null {
  const typed = text.trim();
  const stored = /^(\d{4})[-/](\d{1,2})[-/](\d{1,2})$/.exec(typed);
  if (stored) return dayOf(Number(stored[1]), Number(stored[2]), Number(stored[3]));
  const digits = /^(\d{1,2})[./ -]\s*(\d{1,2})[./ -]\s*(\d{4})$/.exec(typed);
  if (digits) return dayOf(Number(digits[3]), Number(digits[2]), Number(digits[1]));
  const dayFirst = /^(\d{1,2})\.?\s*([\p{L}\p{M}]+)[.,]?\s*(\d{4})$/u.exec(typed);
  if (dayFirst) return dayOf(Number(dayFirst[3]), monthOf(dayFirst[2] ?? '', language), Number(dayFirst[1]));
  const monthFirst = /^([\p{L}\p{M}]+)\.?\s*(\d{1,2}),?\s+(\d{4})$/u.exec(typed);
  if (monthFirst) return dayOf(Number(monthFirst[3]), monthOf(monthFirst[1] ?? '', language), Number(monthFirst[2]));
  return null;
}

/** A day as the person's language writes it; what is none stays as it is. */
export function showDay(day: string, language: string): string {
  if (readDay(day, language) !== day) return day;
  const date = new Date(`${day}T00:00:00Z`);
  return formatOf(language, { dateStyle: 'medium' }).format(date);
}

/** @returns the time of day as it is stored; null for a text that is none */
export function readTime(text: string): string | null {
  const match = /^(\d{1,2})[:.]?(\d{2})(?:[:.]?(\d{2})(\.\d+)?)?$/.exec(text.trim());
  if (!match) return null;
  const [, hour = '', minute = '', second, fraction = ''] = match;
  if (Number(hour) > 23 || Number(minute) > 59 || Number(second ?? 0) > 59) return null;
  return `${hour.padStart(2, '0')}:${minute}${second === undefined ? '' : `:${second}${fraction}`}`;
}
