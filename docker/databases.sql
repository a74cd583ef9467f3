-- Run once, when the server is new: the warehouse beside Airflow's own database, with an owner who
-- cannot read the other.
\getenv warehouse_password WAREHOUSE_PASSWORD
create role warehouse login password :'warehouse_password';
create database warehouse owner warehouse;
revoke connect on database warehouse from public;
revoke connect on database :"DBNAME" from public;
