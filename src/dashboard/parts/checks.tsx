import { IconAlertTriangle, IconCircleX } from '@tabler/icons-react';
import { Link } from '@tanstack/react-router';
import { useTranslation } from 'react-i18next';
import type { FoundFaultFragment } from '../documents.ts';
import { usePlace } from '../lib/place.ts';
import classes from './checks.module.css';
import { EntryName } from './entry-name.tsx';
import { MarkedText } from './marked-text.tsx';

/** Faults that publishing would bring in, each with the way to its entry in the draft. */
export function Checks({ faults, draft }: { faults: readonly FoundFaultFragment[]; draft: string }) {
  const { t } = useTranslation('common');
  const { organization, project } = usePlace();
  return (
    <ul className={classes.list}>
      {faults.map(({ code, level, field, label, message, entry }) => (
        <li key={`${entry.path} ${field} ${code} ${message}`} data-level={level}>
          {level === 'error' ? <IconCircleX size={16} /> : <IconAlertTriangle size={16} />}
          <div>
            <span className="unseen">{t(`check_${level}`)}: </span>
            <Link
              to="/p/$organization/$project/content/$collection/$"
              params={{ organization, project, collection: entry.collection, _splat: entry.slug }}
              search={{ draft }}
            >
              <EntryName {...entry} />
            </Link>{' '}
            {label && <bdi title={field ?? undefined}>{label}: </bdi>}
            <MarkedText text={message} />
          </div>
        </li>
      ))}
    </ul>
  );
}
