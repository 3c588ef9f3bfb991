import { Checkbox, MultiSelect } from '@mantine/core';
import { useTranslation } from 'react-i18next';
import type { Permission, Role } from '../../documents.ts';
import { useCan } from '../../lib/viewer.tsx';
import { areas, isOfRole, permissionAt, rights } from './rights.ts';
import classes from './rights-fields.module.css';

interface PermissionTableProps {
  organization: string;
  /** Role that has some of them by itself; null: none. */
  holder: Role | null;
  value: readonly Permission[];
  onChange: (value: Permission[]) => void;
}

/** Areas by rights. What the person lacks they cannot give, and what the role has needs no giving. */
export function PermissionTable({ organization, holder, value, onChange }: PermissionTableProps) {
  const { t } = useTranslation('organization');
  const can = useCan(organization);
  return (
    <table className={classes.table}>
      <caption className="unseen">{t('permissions')}</caption>
      <thead>
        <tr>
          <td />
          {rights.map((right) => (
            <th key={right} scope="col">
              {t(`right_${right}`)}
            </th>
          ))}
        </tr>
      </thead>
      <tbody>
        {areas.map((area) => (
          <tr key={area}>
            <th scope="row">{t(`area_${area}`)}</th>
            {rights.map((right) => {
              const permission = permissionAt(area, right);
              if (permission === null) return <td key={right} />;
              const isGiven = holder !== null && isOfRole(holder, permission);
              return (
                <td key={right}>
                  <Checkbox
                    aria-label={`${t(`area_${area}`)}: ${t(`right_${right}`)}`}
                    title={permission}
                    checked={isGiven || value.includes(permission)}
                    disabled={isGiven || !can(permission)}
                    onChange={({ currentTarget: { checked } }) =>
                      onChange(checked ? [...value, permission] : value.filter((name) => name !== permission))
                    }
                  />
                </td>
              );
            })}
          </tr>
        ))}
      </tbody>
    </table>
  );
}

/** Projects to choose from, as a page's query gives them. */
export type ProjectChoices = readonly { name: string | null; machine_name: string | null }[];

interface ProjectsFieldProps {
  projects: ProjectChoices;
  value: string[];
  onChange: (value: string[]) => void;
  error: string | undefined;
}

/** Machine names; none: all, later ones included. */
export function ProjectsField({ projects, value, onChange, error }: ProjectsFieldProps) {
  const { t } = useTranslation('organization');
  return (
    <MultiSelect
      label={t('projects')}
      description={t('projects_hint')}
      placeholder={value.length === 0 ? t('all_projects') : undefined}
      data={projects.map(({ name, machine_name }) => ({ value: machine_name ?? '', label: name ?? '' }))}
      value={value}
      onChange={onChange}
      error={error}
      searchable
      clearable
    />
  );
}
