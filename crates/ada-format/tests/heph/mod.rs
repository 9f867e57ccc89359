mod damage;
mod document;
mod round_trip;
mod strategies;
mod streams;
