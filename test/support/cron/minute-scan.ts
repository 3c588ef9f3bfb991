/** A cron expression by the documented rules, without code of the service: five fields, each a test of a number. */
export interface ScannedCron {
  minutes: Set<number>;
  hours: Set<number>;
  days: Set<number>;
  months: Set<number>;
  weekdays: Set<number>;
  stars: { minute: boolean; hour: boolean; day: boolean; weekday: boolean };
}

const bounds = [
  [0, 59],
  [0, 23],
  [1, 31],
  [1, 12],
  [0, 7],
] as const;
const monthNames = 'jan feb mar apr may jun jul aug sep oct nov dec'.split(' ');
const dayNames = 'sun mon tue wed thu fri sat'.split(' ');

const numberOf = (text: string, field: number): number => {
  const lower = text.toLowerCase();
  if (field === 3 && monthNames.includes(lower)) return monthNames.indexOf(lower) + 1;
  if (field === 4 && dayNames.includes(lower)) return dayNames.indexOf(lower);
  return Number(text);
};

function membersOf(text: string, field: number): Set<number> {
  const [low = 0, high = 0] = bounds[field] ?? [];
  const members = new Set<number>();
  for (const item of text.split(',')) {
    const [range = '', step = '1'] = item.split('/');
    const [from = '', to = from] = range.split('-');
    const first = range === '*' ? low : numberOf(from, field);
    const last = range === '*' ? high : numberOf(to, field);
    for (let value = first; value <= last; value += Number(step)) members.add(field === 4 ? value % 7 : value);
  }
  return members;
}

/** Reads an expression that is known to be valid. */
export function scanned(expression: string): ScannedCron {
  const fields = expression.trim().split(/[ \t]+/);
  const [minutes, hours, days, months, weekdays] = fields.map(membersOf);
  const [minute, hour, day, , weekday] = fields.map((field) => field.startsWith('*'));
  return { minutes, hours, days, months, weekdays, stars: { minute, hour, day, weekday } } as ScannedCron;
}

const minute = 60_000;

/** Whether a clock on the wall that shows this time (as `Date.UTC` would give it) matches. */
function matches(cron: ScannedCron, wall: number): boolean {
  const ofDay = (((wall / minute) % 1440) + 1440) % 1440;
  if (!cron.minutes.has(ofDay % 60) || !cron.hours.has(Math.floor(ofDay / 60))) return false;
  const at = new Date(wall);
  if (!cron.months.has(at.getUTCMonth() + 1)) return false;
  const [day, weekday] = [cron.days.has(at.getUTCDate()), cron.weekdays.has(at.getUTCDay())];
  return cron.stars.day || cron.stars.weekday ? day && weekday : day || weekday;
}

const wallClocks = new Map<string, Intl.DateTimeFormat>();

/** What a clock in a zone shows at an instant. */
function wallOf(instant: number, zone: string): number {
  if (zone === 'UTC') return instant;
  let clock = wallClocks.get(zone);
  if (!clock) {
    clock = new Intl.DateTimeFormat('sv-SE', { timeZone: zone, dateStyle: 'short', timeStyle: 'medium' });
    wallClocks.set(zone, clock);
  }
  return Date.parse(`${clock.format(instant).replace(' ', 'T')}Z`);
}

/**
 * Every fire from `from` (included) to `to` (excluded), by looking at each minute: what the wall shows, which of it was there before, and
 * what was passed over when it jumped.
 */
export function scanMinutes(expression: string, zone: string, from: number, to: number): number[] {
  const cron = scanned(expression);
  const byTimePassing = cron.stars.minute || cron.stars.hour;
  const fires: number[] = [];
  // What the wall has shown before `from`, too: it may be shown again.
  const lead = zone === 'UTC' ? 0 : 180 * minute;
  let latest = Number.NEGATIVE_INFINITY;
  for (let instant = from - lead; instant < to; instant += minute) {
    const wall = wallOf(instant, zone);
    let fires_now = matches(cron, wall) && (byTimePassing || wall > latest);
    if (!cron.stars.hour && latest !== Number.NEGATIVE_INFINITY)
      for (let skipped = latest + minute; skipped < wall; skipped += minute) fires_now ||= matches(cron, skipped);
    latest = Math.max(latest, wall);
    if (fires_now && instant >= from) fires.push(instant);
  }
  return fires;
}
