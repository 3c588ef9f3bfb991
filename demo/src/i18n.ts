export const locales = ['en', 'de'] as const;
export type Locale = (typeof locales)[number];

export const text = {
  en: {
    site: 'Wendlow Walled Garden',
    tagline: 'Two acres of pears, bees and borrowed seeds behind a very long wall.',
    journal: 'Journal',
    latest: 'From the journal',
    all: 'All entries',
    related: 'Read next',
    tagged: 'Entries about',
    by: 'by',
    updated: 'updated',
    other: 'Deutsch',
    open: 'Open Wednesday to Sunday, ten until dusk. The gate is the blue one.',
    missing: 'This path ends in nettles',
    missingText: 'The page you were looking for has been moved, renamed or composted.',
    home: 'Back to the gate',
  },
  de: {
    site: 'Mauergarten Wendlow',
    tagline: 'Ein knapper Hektar Birnen, Bienen und geliehene Samen hinter einer sehr langen Mauer.',
    journal: 'Tagebuch',
    latest: 'Aus dem Tagebuch',
    all: 'Alle Einträge',
    related: 'Weiterlesen',
    tagged: 'Einträge über',
    by: 'von',
    updated: 'geändert',
    other: 'English',
    open: 'Mittwoch bis Sonntag, von zehn bis zur Dämmerung. Das Tor ist das blaue.',
    missing: 'Dieser Weg endet in den Brennnesseln',
    missingText: 'Die gesuchte Seite ist umgezogen, umbenannt oder kompostiert.',
    home: 'Zurück zum Tor',
  },
} as const;

/** The language of an entry: the first directory of its id. */
export function localeOf(id: string): Locale {
  return id.startsWith('de/') ? 'de' : 'en';
}

export function otherLocale(locale: Locale): Locale {
  return locale === 'en' ? 'de' : 'en';
}

export function longDate(date: Date, locale: Locale): string {
  return date.toLocaleDateString(locale === 'en' ? 'en-GB' : 'de-DE', { dateStyle: 'long', timeZone: 'UTC' });
}
