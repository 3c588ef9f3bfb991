import { Link } from '@tanstack/react-router';
import { useTranslation } from 'react-i18next';
import { useQuery } from 'urql';
import { EntryLocales } from '../../documents.ts';
import type { Place } from '../../lib/place.ts';
import classes from './languages.module.css';
import { localesOf, translatedSlug } from './translations.ts';

interface LanguagesProps {
  place: Place;
  collection: string;
  slug: string;
  locale: string;
  translations: readonly { slug: string; locale: string | null }[];
}

/** The entry in its other languages; where one is missing, the way to make it from this one. */
export function Languages({ place, collection, slug, locale, translations }: LanguagesProps) {
  const { t, i18n } = useTranslation('entry');
  const { organization, project, draft } = place;
  const [{ data }] = useQuery({
    query: EntryLocales,
    variables: { organization, project, branch: draft ?? null, collection },
  });
  const others = data?.project?.studio?.collection?.entries?.nodes ?? [];
  const known = new Map(translations.flatMap((one) => (one.locale === null ? [] : [[one.locale, one.slug] as const])));
  const locales = [...new Set([...localesOf(others), ...known.keys(), locale])].sort();
  const names = new Intl.DisplayNames(i18n.language, { type: 'language', fallback: 'code' });
  const nameOf = (code: string) => {
    try {
      return names.of(code) ?? code;
    } catch {
      return code;
    }
  };
  if (locales.length < 2) return null;
  const search = draft === undefined ? {} : { draft };
  return (
    <nav className={classes.languages} aria-label={t('languages')}>
      {locales.map((code) => {
        const there = known.get(code);
        if (code === locale)
          return (
            <span key={code} aria-current="true" title={nameOf(code)}>
              {code.toUpperCase()}
            </span>
          );
        return there === undefined ? (
          <Link
            key={code}
            to="/p/$organization/$project/new/$collection"
            params={{ organization, project, collection }}
            search={{ ...search, from: slug, slug: translatedSlug({ slug, locale }, code, others) }}
            title={t('translate_to', { language: nameOf(code) })}
          >
            {t('language_missing', { code: code.toUpperCase() })}
          </Link>
        ) : (
          <Link
            key={code}
            to="/p/$organization/$project/content/$collection/$"
            params={{ organization, project, collection, _splat: there }}
            search={search}
            title={nameOf(code)}
          >
            {code.toUpperCase()}
          </Link>
        );
      })}
    </nav>
  );
}
